"""A second look at the order of passages, where the judgement `reranking` calls for one and the pipeline wants it."""
