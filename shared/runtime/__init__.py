"""What runs a stage: worker, context, process settings, permissions, and the in-memory bus for tests."""
