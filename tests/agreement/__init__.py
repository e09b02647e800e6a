"""Whether all protocols show the same endings: `python -m tests.agreement`."""
