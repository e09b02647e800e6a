"""Rewriting of questions before the search: standalone form, additional search query, sub-questions."""
