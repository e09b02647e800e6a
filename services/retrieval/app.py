"""Wiring of the retrieval stage."""

from __future__ import annotations

from services.retrieval.embed.choose import embeddings_of
from services.retrieval.graph.choose import graph_of
from services.retrieval.graph.leg import GraphLeg
from services.retrieval.handler import Librarian, Retriever
from services.retrieval.index.choose import index_of
from services.retrieval.legs import LinksLeg, MeaningLeg, WebLeg, WordsLeg
from services.retrieval.ports import Leg
from services.retrieval.rerank.rules import RulesReranker
from services.retrieval.searching import Searcher
from services.retrieval.settings import RetrievalSettings, settings_by_name
from services.retrieval.sources import SourceIndex
from services.retrieval.votes import BallotBox, Returning
from services.retrieval.web.choose import engine_of
from services.retrieval.wholes import WholeSources
from shared.resources import Resources
from shared.stage import Stage
from shared.subjects import DOCUMENTS_BUCKET


def build(resources: Resources) -> Stage:
    stage = Stage("retrieval", settings=RetrievalSettings)
    index = index_of(resources.settings)
    graph = graph_of(resources.settings)
    returning = Returning(BallotBox(resources.settings.data_dir / "retrieval" / "votes.db"), resources.log)
    engine = engine_of(resources.settings)
    legs: list[Leg] = [WordsLeg(index), WebLeg(engine)]
    embeddings = embeddings_of(resources.settings)
    if embeddings is not None:
        legs.insert(1, MeaningLeg(index, embeddings))
    for port in (index, graph, engine, embeddings, returning):
        if port is not None:
            stage.opens(port)
    store = "server" if resources.settings.vector_url else "embedded"
    objects = resources.stores.objects(DOCUMENTS_BUCKET)
    librarian = Librarian(index, objects, store=store, embeddings=embeddings, graph=graph)
    links = LinksLeg(GraphLeg(graph))
    retriever = Retriever(
        Searcher(legs, links, returning.votes, shelf=index, wholes=WholeSources(index), rerankers=[RulesReranker()]),
        settings_by_name(resources),
    )
    stage.on(retriever.retrieve)
    stage.on(retriever.retry)
    stage.on(librarian.index)
    stage.on(returning.weigh)
    stage.answers("search", retriever.search)
    stage.answers("documents", librarian.documents)
    stage.answers("remove", librarian.remove)
    stage.answers("stats", librarian.stats)
    stage.answers("kb_index", SourceIndex(index).kb_index)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
