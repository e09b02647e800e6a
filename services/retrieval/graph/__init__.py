"""The knowledge graph: which passages define a name, which mention it, and what follows from walking between them."""

from __future__ import annotations

from services.retrieval.graph.ports import Graph
from services.retrieval.stores.tenant_folder import tenant_folder
from shared.contracts.tenants import DEFAULT_TENANT
from shared.runtime.settings import Settings


def create_graph(settings: Settings, tenant: str = DEFAULT_TENANT) -> Graph:
    """The graph of a tenant: Neo4j when its address is set, else SQLite in the data directory. Opens nothing yet."""
    if settings.graph_url:
        from services.retrieval.graph.neo4j import Neo4jGraph

        password = settings.graph_password.get_secret_value()
        return Neo4jGraph(settings.graph_url, settings.graph_user, password, tenant=tenant)
    from services.retrieval.graph.sqlite import SqliteGraph

    return SqliteGraph(tenant_folder(settings, tenant))
