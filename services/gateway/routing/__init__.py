"""Routing: which pipeline answers a question that names none."""
