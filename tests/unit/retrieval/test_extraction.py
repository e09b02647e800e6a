"""What a model extracts goes into the graph if it occurs in the passages; what it invents does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from services.retrieval.graph.extract import extract
from services.retrieval.graph.ports import DocumentGraph, Relation
from services.retrieval.indexing.extraction import extractor
from services.retrieval.indexing.extraction.cache import ExtractionCache
from services.retrieval.indexing.extraction.entities import ExtractionReply, merged
from services.retrieval.indexing.extraction.extractor import EntityExtractor
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import ModelError
from shared.contracts.requests.retrieval import IndexedDocument
from shared.llm.none import NoModels

TEXTS = ("Answers are kept by the Lantern cache, which needs Redis.", "Ines Moreau wrote the Lantern cache in Porto.")
PASSAGES = [Passage(id=f"p{n}", source="kb:a.md", text=text, title="Answers") for n, text in enumerate(TEXTS)]
FOUND = {
    "entities": [
        {"name": "Lantern cache", "kind": "technology"},
        {"name": "Ines Moreau", "kind": "Person"},
        {"name": "Redis", "kind": "data store"},
        {"name": "Atlantis", "kind": "concept"},
        {"name": "2024", "kind": "other"},
    ],
    "relations": [
        {"subject": "Lantern cache", "kind": "depends on", "object": "redis"},
        {"subject": "Lantern cache", "kind": "sponsored_by", "object": "Ines Moreau"},
        {"subject": "Lantern cache", "kind": "uses", "object": "Atlantis"},
    ],
}
ON = RetrievalSettings.model_validate({"extraction": {"model": True}})


def _by_rules() -> DocumentGraph:
    return extract(IndexedDocument(source="kb:a.md", title="Answers"), PASSAGES)


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[ExtractionCache]:
    kept = ExtractionCache(tmp_path / "retrieval" / "extraction.sqlite")
    yield kept
    await kept.close()


def test_names_that_occur_in_the_passages_are_added_with_their_kinds() -> None:
    document_graph = merged(_by_rules(), {("p0", "p1"): ExtractionReply.model_validate(FOUND)})

    kinds = {entity.key: entity.kind for entity in document_graph.entities}
    assert kinds["lantern cache"] == "technology"
    assert kinds["ines moreau"] == "person"
    assert kinds["redis"] == "other"  # a kind there is not
    assert not {"atlantis", "2024"} & set(kinds)
    assert {(one.passage, one.entity) for one in document_graph.definitions} >= {("p0", "redis"), ("p1", "ines moreau")}


def test_relations_need_both_entities() -> None:
    document_graph = merged(_by_rules(), {("p0", "p1"): ExtractionReply.model_validate(FOUND)})
    assert document_graph.relations == (
        Relation("lantern cache", "depends_on", "redis"),
        Relation("lantern cache", "related_to", "ines moreau"),
    )


def test_without_anything_found_the_document_graph_is_that_of_the_rules() -> None:
    assert merged(_by_rules(), {}) == _by_rules()


class Counting:
    """Replies with what was found, and counts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls = 0
        self._error = error

    def has(self, role: str) -> bool:
        return True

    async def invoke(self, role: str, step: str, system: str, user: str, response_model: Any) -> Any:
        self.calls += 1
        if self._error:
            raise self._error
        return response_model.model_validate(FOUND)


def _extraction(models: Any, cache: ExtractionCache) -> EntityExtractor:
    return EntityExtractor(models, cache)


async def test_the_same_passages_are_extracted_once_per_prompt(cache: ExtractionCache) -> None:
    models = Counting()
    first = await _extraction(models, cache).enriched(_by_rules(), PASSAGES, ON)
    second = await _extraction(models, cache).enriched(_by_rules(), PASSAGES, ON)
    other = RetrievalSettings.model_validate({"extraction": {**ON.extraction.model_dump(), "prompt": "Find names."}})
    await _extraction(models, cache).enriched(_by_rules(), PASSAGES, other)

    assert first == second
    assert models.calls == 2
    assert _extraction(models, cache).rules(ON) != _extraction(models, cache).rules(other)


async def test_when_the_model_fails_the_rules_apply_and_nothing_is_cached(cache: ExtractionCache) -> None:
    failing, working = Counting(ModelError("away")), Counting()
    assert await _extraction(failing, cache).enriched(_by_rules(), PASSAGES, ON) == _by_rules()
    await _extraction(working, cache).enriched(_by_rules(), PASSAGES, ON)
    assert working.calls == 1


@pytest.mark.parametrize("settings", [RetrievalSettings(), ON])
async def test_without_the_setting_or_a_model_nothing_is_called(
    cache: ExtractionCache, settings: RetrievalSettings
) -> None:
    models = NoModels() if settings is ON else Counting()
    extraction = _extraction(models, cache)
    assert await extraction.enriched(_by_rules(), PASSAGES, settings) == _by_rules()
    assert extraction.rules(settings) == ()


async def test_a_long_document_is_extracted_in_batches_up_to_the_maximum(
    cache: ExtractionCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Counting()
    monkeypatch.setattr(extractor, "BATCH_CHARS", 200)
    monkeypatch.setattr(extractor, "MAX_CALLS", 2)
    passages = [Passage(id=f"p{n}", source="kb:a.md", text=f"Part {n}. " * 15) for n in range(6)]
    document_graph = extract(IndexedDocument(source="kb:a.md", title="Parts"), passages)
    await _extraction(models, cache).enriched(document_graph, passages, ON)
    assert models.calls == 2
