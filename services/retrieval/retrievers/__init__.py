"""The retrievers: BM25, dense, graph and web search, each a ranked list of passages."""
