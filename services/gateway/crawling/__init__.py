"""Sites that are read into the index."""
