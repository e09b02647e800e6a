"""Texts to vectors: an endpoint or a model in this process, behind one cache."""
