"""Parsers of what a model writes, one per output form."""
