"""Passages from a search of the web, for questions the documents do not answer. Off unless a search engine is set."""
