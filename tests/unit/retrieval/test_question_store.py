"""The store of answered questions: what it keeps of each, and what it reads of entries that are already there."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import cast

import pytest

from services.retrieval.ports import VectorIndex
from services.retrieval.reach import EVERYTHING
from services.retrieval.semantic_cache.question_store import QuestionStore, scope_of
from services.retrieval.semantic_cache.settings import SemanticCacheSettings
from services.retrieval.stores import create_vector_index
from services.retrieval.stores.edge import EdgeIndex
from services.retrieval.stores.points import AnsweredQuestion, passage_id
from shared.contracts.domain import Passage, PipelineRef, Question, Reusable
from shared.contracts.envelope import opening
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import QuestionAsked
from shared.contracts.requests.retrieval import IndexedDocument
from shared.runtime.settings import Settings

PIPELINE = PipelineRef(name="default", revision=1)
QUESTION = "How do I renew my passport?"
SCOPE = scope_of(Settings().tenant, PIPELINE.name, PIPELINE.revision, "eng")


async def test_the_digest_of_an_answer_has_a_field_of_its_own(tmp_path: Path) -> None:
    index = create_vector_index(Settings(data_dir=tmp_path), "asked")
    store = QuestionStore(index, None)
    event = opening("gateway", QuestionAsked(text="?"), pipeline=PIPELINE, deadline_seconds=60)
    reusable = Reusable(question=QUESTION, language="eng", answer="a1b2", sources=("kb:a",))
    await store.keep(reusable, "v1", event)

    (candidate,) = await store.nearest(Question(text=QUESTION, language="eng"), SCOPE, SemanticCacheSettings())
    (stored,) = await index.fetch([passage_id(f"asked:{event.correlation_id}", "v1", 0)], EVERYTHING)
    await store.close()

    assert (candidate.origin, candidate.text, candidate.answer) == (event.correlation_id, QUESTION, "a1b2")
    assert isinstance(stored, AnsweredQuestion)
    assert (stored.answer, stored.url) == ("a1b2", "")


async def test_an_entry_written_before_the_field_existed_is_still_read(tmp_path: Path) -> None:
    index = create_vector_index(Settings(data_dir=tmp_path), "asked")
    await index.open()
    event = opening("gateway", QuestionAsked(text="?"), pipeline=PIPELINE, deadline_seconds=60)
    source, day = f"asked:{event.correlation_id}", event.occurred_at.date().isoformat()
    document = IndexedDocument(source=source, digest="a1b2", version="v1", collection=SCOPE, chunks=1, indexed_at=day)
    passage = Passage(
        id=passage_id(source, "v1", 0), source=source, text=QUESTION, url="a1b2", language="eng", date=day
    )
    await index.replace(document, [passage])
    await index.close()
    store = QuestionStore(index, None)

    (candidate,) = await store.nearest(Question(text=QUESTION, language="eng"), SCOPE, SemanticCacheSettings())
    await store.close()

    assert candidate.answer == "a1b2"


async def test_a_lookup_given_up_while_the_index_is_opened_leaves_it_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_open, open_on_thread = threading.Event(), EdgeIndex._open

    def slowly(index: EdgeIndex) -> None:
        may_open.wait(20)
        open_on_thread(index)

    monkeypatch.setattr(EdgeIndex, "_open", slowly)
    store = QuestionStore(create_vector_index(Settings(data_dir=tmp_path), "asked"), None)
    question = Question(text=QUESTION, language="eng")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await store.nearest(question, SCOPE, SemanticCacheSettings())
    may_open.set()

    found = await store.nearest(question, SCOPE, SemanticCacheSettings())
    await store.close()

    assert found == []


class AbsentIndex:
    """An index that cannot be opened at first."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.opened = 0

    async def open(self) -> None:
        self.opened += 1
        if self.opened == 1:
            raise self.error

    async def delete_source(self, source: str) -> bool:
        return False

    async def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("error", [UnavailableError("it does not answer"), OSError("it does not answer")])
async def test_an_index_that_could_not_be_opened_is_opened_with_the_next_call(error: Exception) -> None:
    index = AbsentIndex(error)
    store = QuestionStore(cast("VectorIndex", index), None)
    with pytest.raises(type(error), match="does not answer"):
        await store.forget("0" * 32)

    assert not await store.forget("0" * 32)
    await store.close()
    assert index.opened == 2
