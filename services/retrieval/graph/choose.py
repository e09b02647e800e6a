"""Which graph a worker uses."""

from __future__ import annotations

from services.retrieval.graph.neo4j import Neo4jGraph
from services.retrieval.graph.ports import Graph
from services.retrieval.graph.sqlite import SqliteGraph
from shared.runtime.settings import Settings


def graph_of(settings: Settings) -> Graph:
    """Neo4j where its address is set, else SQLite in the data directory. Nothing is opened yet."""
    if settings.graph_url:
        return Neo4jGraph(settings.graph_url, settings.graph_user, settings.graph_password.get_secret_value())
    return SqliteGraph(settings.data_dir / "retrieval")
