"""The generation of the index: another one after every change, however long the store was away."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from services.retrieval.generation import Generation
from services.retrieval.settings import RetrievalSettings
from shared.asks.retrieval import RemoveReply, RemoveRequest
from shared.domain import Document
from shared.facts import DocumentIndexed, DocumentSubmitted
from shared.reuse import GENERATION
from shared.stores.memory import MemoryKeyValue

SETTINGS = RetrievalSettings()


def librarian(*, unchanged: bool = False, removed: tuple[str, ...] = ()) -> Any:
    async def index(submitted: DocumentSubmitted, _: RetrievalSettings) -> DocumentIndexed:
        return DocumentIndexed(source=submitted.document.source, digest="d", chunks=1, unchanged=unchanged)

    async def remove(_: RemoveRequest) -> RemoveReply:
        return RemoveReply(removed=removed)

    return SimpleNamespace(index=index, remove=remove)


def submitted(parts: int = 0) -> DocumentSubmitted:
    return DocumentSubmitted(document=Document(source="kb:a", text="A.", parts=parts))


async def test_a_worker_that_starts_and_a_document_that_changed_begin_a_generation() -> None:
    store = MemoryKeyValue()
    generation = Generation(librarian(), store)
    await generation.open()
    first = await store.get(GENERATION)

    await generation.index(submitted(), SETTINGS)

    assert first
    assert await store.get(GENERATION) not in (None, first)


async def test_the_same_document_again_begins_none_unless_parts_went_with_it() -> None:
    store = MemoryKeyValue()
    generation = Generation(librarian(unchanged=True), store)

    await generation.index(submitted(), SETTINGS)
    assert await store.get(GENERATION) is None

    await generation.index(submitted(parts=2), SETTINGS)
    assert await store.get(GENERATION)


async def test_a_removal_begins_one_where_something_was_removed() -> None:
    store = MemoryKeyValue()
    request = RemoveRequest(sources=("kb:a",))

    await Generation(librarian(), store).remove(request)
    assert await store.get(GENERATION) is None

    await Generation(librarian(removed=("kb:a",)), store).remove(request)
    assert await store.get(GENERATION)


async def test_documents_do_not_wait_for_a_store_that_is_away_which_is_told_when_it_is_back() -> None:
    store = MemoryKeyValue()
    store.away = True
    generation = Generation(librarian(), store)

    told = await generation.index(submitted(), SETTINGS)
    store.away = False

    assert isinstance(told, DocumentIndexed)
    async with asyncio.timeout(10):
        while await store.get(GENERATION) is None:  # noqa: ASYNC110 (what is waited for is in a store)
            await asyncio.sleep(0.01)
    await generation.close()
