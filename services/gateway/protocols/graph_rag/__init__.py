"""The REST API of a graph-RAG service over the same durable questions."""
