"""Rerankers: they reorder the leading passages when the pipeline names one and the ranker `reranking` has a reason."""
