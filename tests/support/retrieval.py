"""Handlers of the retrieval stage on stores that a test gives them."""

from __future__ import annotations

from typing import Any

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.graph.ports import Graph
from services.retrieval.handler import DocumentHandler
from services.retrieval.index_generation import IndexGeneration
from services.retrieval.indexing.document_indexer import DocumentIndexer
from services.retrieval.ports import VectorIndex
from shared.stores.memory import MemoryKeyValue


def document_handler(
    index: VectorIndex, objects: Any = None, *, embeddings: Embeddings | None = None, graph: Graph | None = None
) -> DocumentHandler:
    """Indexes, lists and removes documents as the stage does, with an answer cache in memory."""
    indexer = DocumentIndexer(index, objects, embeddings=embeddings, graph=graph)
    return DocumentHandler(indexer, IndexGeneration(MemoryKeyValue()), index, embeddings)
