"""The retrievers, one module each: BM25, dense vectors, graph walk, web search, and whole documents.

`parallel.py` runs several of them at the same time, each under its own timeout.
"""
