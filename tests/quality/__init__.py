"""Answers on real documentation, asked and judged as a reader would: `python -m tests.quality`, `make quality`."""
