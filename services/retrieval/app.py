"""Wiring of the retrieval stage."""

from __future__ import annotations

from services.retrieval.access import ACCESS
from services.retrieval.assembling import librarian_of, retriever_of, searcher_of
from services.retrieval.embed.choose import embeddings_of
from services.retrieval.extraction.memory import Memory
from services.retrieval.generation import Generation
from services.retrieval.graph.choose import graph_of
from services.retrieval.imprint import imprint_of
from services.retrieval.index.choose import index_of
from services.retrieval.ratings import Ratings
from services.retrieval.settings import RetrievalSettings
from services.retrieval.similar.lookup import KEPT_AT_ONCE, lookup_of
from services.retrieval.sources import SourceIndex
from services.retrieval.votes import BallotBox, Returning
from services.retrieval.web.choose import engine_of
from shared.resources import Resources
from shared.stage import Stage
from shared.subjects import ANSWERS_BUCKET


def build(resources: Resources) -> Stage:
    stage = Stage("retrieval", settings=RetrievalSettings, access=ACCESS)
    index = index_of(resources.settings)
    graph = graph_of(resources.settings)
    returning = Returning(BallotBox(resources.settings.data_dir / "retrieval" / "votes.db"), resources.log)
    engine = engine_of(resources.settings)
    embeddings = embeddings_of(resources.settings)
    memory = Memory(resources.settings.data_dir / "retrieval" / "extraction.sqlite")
    similar = lookup_of(resources, index, embeddings)
    for port in (index, graph, engine, embeddings, returning, memory, similar):
        if port is not None:
            stage.opens(port)
    librarian = librarian_of(resources, index, embeddings, graph, memory)
    imprint = imprint_of(resources.settings, embeddings.name if embeddings else "")
    generation = Generation(librarian, resources.stores.key_value(ANSWERS_BUCKET), imprint)
    stage.opens(generation)
    searcher = searcher_of(index, graph, engine, embeddings, returning.votes, resources.models)
    retriever = retriever_of(resources, searcher, similar, index)
    ratings = Ratings(returning, similar)
    for handler in (retriever.retrieve, retriever.retry, generation.index, ratings.hear, ratings.forget):
        stage.on(handler)
    stage.on(similar.keep, concurrency=KEPT_AT_ONCE)
    stage.answers("search", retriever.search)
    stage.answers("documents", librarian.documents)
    stage.answers("remove", generation.remove)
    stage.answers("stats", librarian.stats)
    stage.answers("kb_index", SourceIndex(index).kb_index)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
