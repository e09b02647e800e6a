"""Which index a worker uses."""

from __future__ import annotations

from services.retrieval.stores.edge import EdgeIndex
from services.retrieval.stores.server import ServerIndex
from shared.runtime.settings import Settings


def index_of(settings: Settings, part: str = "") -> EdgeIndex | ServerIndex:
    """The index of the documents, or another one beside it by its name (`part`).

    A Qdrant server where its address is set, else Qdrant Edge in the data directory. Nothing is opened yet.
    """
    if settings.vector_url:
        key = settings.vector_api_key.get_secret_value()
        return ServerIndex(settings.vector_url, key, name="-".join(filter(None, ("answerbus", settings.tenant, part))))
    return EdgeIndex(settings.data_dir / "retrieval" / part)
