"""The index of sources: what there is, one line each, for people and for choosing sources by it."""

from __future__ import annotations

from services.retrieval.ports import VectorIndex
from shared.contracts.requests.retrieval import KbIndexEntry, KbIndexReply, KbIndexRequest


class SourceIndex:
    """Lists the register of documents as an index of sources."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    async def kb_index(self, request: KbIndexRequest) -> KbIndexReply:
        """One page: `ask.retrieval.kb_index`."""
        wanted = frozenset(request.collections)
        documents = await self._index.documents(request.collections[0] if len(wanted) == 1 else "")
        entries = [
            KbIndexEntry(source=one.source, title=one.title, description=one.description)
            for one in documents
            if not wanted or one.collection in wanted
        ]
        later = [entry for entry in entries if entry.source > request.after]
        page = tuple(later[: request.limit])
        return KbIndexReply(entries=page, total=len(entries), after=page[-1].source if len(later) > len(page) else "")
