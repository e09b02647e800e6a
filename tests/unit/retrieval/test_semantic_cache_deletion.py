"""Erased questions of the semantic cache: gone from searches at once, from the disk at the next start."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from services.retrieval.ports import VectorIndex
from services.retrieval.semantic_cache.lookup import CacheLookup, lookup_of
from services.retrieval.semantic_cache.question_store import QuestionStore
from services.retrieval.settings import RetrievalSettings
from services.retrieval.stores import create_vector_index
from shared.contracts.domain import PipelineRef, Reusable
from shared.contracts.envelope import opening
from shared.contracts.facts import ExchangeRecorded, QuestionAsked
from shared.contracts.requests.retrieval import IndexedDocument
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus

PIPELINE = PipelineRef(name="default", revision=1)
CID = "0" * 32
SINCE = "2026-11-20T12:00:00+00:00"
SECRET = "zyxquwertvbnalsk"


def lookup(data: Path) -> CacheLookup:
    settings = Settings(data_dir=data)
    return lookup_of(MemoryBus(settings=settings).context(), create_vector_index(settings), None)


async def kept(data: Path) -> str:
    """Keep a question, as a worker that runs no more; its id."""
    event = opening("gateway", QuestionAsked(text="?"), pipeline=PIPELINE, deadline_seconds=60)
    questions = QuestionStore(create_vector_index(Settings(data_dir=data), "asked"), None)
    reusable = Reusable.model_construct(question=f"Where is {SECRET}?", answer="digest", language="eng", sources=())
    await questions.keep(reusable, "version", event)
    await questions.close()
    return event.correlation_id


def holds(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes().lower() for path in folder.rglob("*") if path.is_file())


def made(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_an_erased_question_is_gone_from_the_disk_after_a_restart(tmp_path: Path) -> None:
    question = await kept(tmp_path)
    first = lookup(tmp_path)
    await first.open()
    await first.forget([question])
    await first.close()
    before = holds(tmp_path)

    second = lookup(tmp_path)
    await second.open()
    await second.close()

    assert before  # when this fails, the index has learned to rewrite its files
    assert not holds(tmp_path)


async def test_the_index_stays_when_no_stored_question_was_erased(tmp_path: Path) -> None:
    await kept(tmp_path)
    for _ in range(2):
        worker = lookup(tmp_path)
        await worker.open()
        await worker.forget([CID])
        await worker.close()

    assert holds(tmp_path)


class PassageStore:
    """The index of the documents, as far as it tells that one is there."""

    async def document(self, source: str) -> IndexedDocument:
        return IndexedDocument(source=source, digest="d", version="v", title="", chunks=1, indexed_at=SINCE)


@pytest.mark.parametrize("forgotten", [False, True])
async def test_a_question_recorded_after_its_erasure_is_not_stored(tmp_path: Path, forgotten: bool) -> None:
    resources = MemoryBus(settings=Settings(data_dir=tmp_path)).context()
    worker = lookup_of(resources, cast("VectorIndex", PassageStore()), None)
    await worker.open()
    reusable = Reusable(question=f"Where is {SECRET}?", language="eng", answer="digest", sources=("kb:a",))
    fact = ExchangeRecorded(record=CID, outcome="answered", reusable=reusable)
    event = opening("persistence", fact, pipeline=PIPELINE, deadline_seconds=60, correlation_id=CID)
    if forgotten:
        await worker.forget([CID])

    await worker.keep(fact, event, RetrievalSettings.model_validate({"semantic_cache": {"mode": "on"}}))
    await worker.close()

    assert holds(tmp_path) != forgotten


async def test_erasure_creates_no_index(tmp_path: Path) -> None:
    worker = lookup(tmp_path)
    await worker.open()
    await worker.forget([CID])
    await worker.close()

    assert made(tmp_path) == []
