"""Extraction of entities and relations by a model, in addition to those found by rule."""
