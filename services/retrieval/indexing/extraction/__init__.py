"""Entities and relations that a model finds in documents, beside those the rules find."""
