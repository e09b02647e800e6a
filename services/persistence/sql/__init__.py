"""The record on SQLite or PostgreSQL: the only place of the stage that uses SQLAlchemy, which is imported at `open`."""
