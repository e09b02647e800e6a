"""Wiring of the retrieval stage."""

from __future__ import annotations

from services.retrieval.access import ACCESS
from services.retrieval.embeddings.choose import embeddings_of
from services.retrieval.feedback import Ratings
from services.retrieval.feedback_store import BallotBox, Returning
from services.retrieval.graph.choose import graph_of
from services.retrieval.index_fingerprint import imprint_of
from services.retrieval.index_generation import Generation
from services.retrieval.indexing.extraction.cache import ExtractionCache
from services.retrieval.retrievers.web.choose import engine_of
from services.retrieval.search_factory import librarian_of, retriever_of, searcher_of
from services.retrieval.semantic_cache.lookup import KEPT_AT_ONCE, lookup_of
from services.retrieval.settings import RetrievalSettings
from services.retrieval.source_index import SourceIndex
from services.retrieval.stores.choose import index_of
from shared.contracts.stage import Stage
from shared.contracts.subjects import ANSWERS_BUCKET
from shared.runtime.context import StageContext


def build(context: StageContext) -> Stage:
    stage = Stage("retrieval", settings=RetrievalSettings, access=ACCESS)
    index = index_of(context.settings)
    graph = graph_of(context.settings)
    returning = Returning(BallotBox(context.settings.data_dir / "retrieval" / "votes.db"), context.log)
    engine = engine_of(context.settings)
    embeddings = embeddings_of(context.settings)
    memory = ExtractionCache(context.settings.data_dir / "retrieval" / "extraction.sqlite")
    similar = lookup_of(context, index, embeddings)
    for port in (index, graph, engine, embeddings, returning, memory, similar):
        if port is not None:
            stage.opens(port)
    librarian = librarian_of(context, index, embeddings, graph, memory)
    imprint = imprint_of(context.settings, embeddings.name if embeddings else "")
    generation = Generation(librarian, context.stores.key_value(ANSWERS_BUCKET), imprint)
    stage.opens(generation)
    searcher = searcher_of(index, graph, engine, embeddings, returning.votes, context.models)
    retriever = retriever_of(context, searcher, similar, index)
    ratings = Ratings(returning, similar)
    for handler in (retriever.retrieve, retriever.retry, generation.index, ratings.hear, ratings.forget):
        stage.on(handler)
    stage.on(similar.keep, concurrency=KEPT_AT_ONCE)
    stage.on_request(retriever.search)
    stage.on_request(librarian.documents)
    stage.on_request(generation.remove)
    stage.on_request(librarian.stats)
    stage.on_request(SourceIndex(index).kb_index)
    return stage


if __name__ == "__main__":
    from shared.runtime.worker import run

    run(build)
