"""The knowledge graph: which passages define a name, which mention it, and what follows from walking between them."""

from __future__ import annotations

from services.retrieval.graph.ports import Graph
from shared.runtime.settings import Settings


def create_graph(settings: Settings) -> Graph:
    """Neo4j when its address is set, else SQLite in the data directory. Opens nothing yet."""
    if settings.graph_url:
        from services.retrieval.graph.neo4j import Neo4jGraph

        return Neo4jGraph(settings.graph_url, settings.graph_user, settings.graph_password.get_secret_value())
    from services.retrieval.graph.sqlite import SqliteGraph

    return SqliteGraph(settings.data_dir / "retrieval")
