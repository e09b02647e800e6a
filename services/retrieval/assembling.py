"""The search of a stage, put together from its stores and what else it can use."""

from __future__ import annotations

from services.retrieval.continuing import Continuing
from services.retrieval.embed.embeddings import Embeddings
from services.retrieval.extraction.memory import Memory
from services.retrieval.extraction.reading import Extraction
from services.retrieval.graph.leg import GraphLeg
from services.retrieval.graph.ports import Graph
from services.retrieval.handler import Librarian, Retriever
from services.retrieval.judgements.feedback import Polled
from services.retrieval.legs import LinksLeg, MeaningLeg, WebLeg, WordsLeg
from services.retrieval.ports import Leg, Reranker, VectorIndex
from services.retrieval.rerank.model import ModelReranker
from services.retrieval.rerank.rules import RulesReranker
from services.retrieval.searching import Searcher
from services.retrieval.settings import settings_by_name
from services.retrieval.similar.lookup import SimilarLookup
from services.retrieval.understanding.reading import Understanding
from services.retrieval.web.ports import WebSearch
from services.retrieval.wholes import WholeSources
from shared.models.ports import Models
from shared.resources import Resources
from shared.subjects import DOCUMENTS_BUCKET


def librarian_of(
    resources: Resources, index: VectorIndex, embeddings: Embeddings | None, graph: Graph, memory: Memory
) -> Librarian:
    """Who takes documents in and out of these stores; `memory` keeps what a model read in them."""
    return Librarian(
        index,
        resources.stores.objects(DOCUMENTS_BUCKET),
        store="server" if resources.settings.vector_url else "embedded",
        embeddings=embeddings,
        graph=graph,
        extraction=Extraction(resources.models, memory),
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


def retriever_of(resources: Resources, searcher: Searcher, similar: SimilarLookup, index: VectorIndex) -> Continuing:
    """Who finds passages: for a question by itself, and with those of the turn before."""
    retriever = Retriever(searcher, settings_by_name(resources), Understanding(resources.models), similar)
    return Continuing(retriever, resources.asker, index)
