"""The search of a stage, put together from its stores and what else it can use."""

from __future__ import annotations

from services.retrieval.conversation_context import Continuing
from services.retrieval.document_retriever import WholeSources
from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.graph.ports import Graph
from services.retrieval.handler import Librarian, Retriever
from services.retrieval.indexing.extraction.cache import ExtractionCache
from services.retrieval.indexing.extraction.extractor import EntityExtractor
from services.retrieval.ports import Leg, Reranker, VectorIndex
from services.retrieval.query_rewriting.rewriter import QueryRewriter
from services.retrieval.rankers.feedback import Polled
from services.retrieval.rerankers.model import ModelReranker
from services.retrieval.rerankers.rules import RulesReranker
from services.retrieval.retrievers.graph import GraphLeg
from services.retrieval.retrievers.parallel import LinksLeg, MeaningLeg, WebLeg, WordsLeg
from services.retrieval.retrievers.web.ports import WebSearch
from services.retrieval.searcher import Searcher
from services.retrieval.semantic_cache.lookup import CacheLookup
from services.retrieval.settings import settings_by_name
from shared.contracts.subjects import DOCUMENTS_BUCKET
from shared.llm.ports import Models
from shared.runtime.context import StageContext


def librarian_of(
    context: StageContext, index: VectorIndex, embeddings: Embeddings | None, graph: Graph, memory: ExtractionCache
) -> Librarian:
    """Who takes documents in and out of these stores; `memory` keeps what a model read in them."""
    return Librarian(
        index,
        context.stores.objects(DOCUMENTS_BUCKET),
        store="server" if context.settings.vector_url else "embedded",
        embeddings=embeddings,
        graph=graph,
        extraction=EntityExtractor(context.models, memory),
    )


def searcher_of(
    index: VectorIndex,
    graph: Graph,
    engine: WebSearch | None,
    embeddings: Embeddings | None,
    votes: Polled,
    models: Models,
) -> Searcher:
    """The search by words, by meaning where there are embeddings, by links, and of the web; `votes` move sources."""
    legs: list[Leg] = [WordsLeg(index), WebLeg(engine)]
    if embeddings is not None:
        legs.insert(1, MeaningLeg(index, embeddings))
    links = LinksLeg(GraphLeg(graph))
    rerankers: list[Reranker] = [RulesReranker(), ModelReranker(models)]
    return Searcher(legs, links, votes, shelf=index, wholes=WholeSources(index, models), rerankers=rerankers)


def retriever_of(context: StageContext, searcher: Searcher, similar: CacheLookup, index: VectorIndex) -> Continuing:
    """Who finds passages: for a question by itself, and with those of the turn before."""
    retriever = Retriever(searcher, settings_by_name(context), QueryRewriter(context.models), similar)
    return Continuing(retriever, context.requests, index)
