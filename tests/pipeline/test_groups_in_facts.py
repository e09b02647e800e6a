"""Whatever is asked by whomever: no fact of a question has a passage of a document that its asker may not read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.host.catalogue import STAGES, builder
from shared.contracts.document_access import may_read
from shared.contracts.domain import Document
from shared.contracts.envelope import opening
from shared.contracts.facts import DocumentSubmitted
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus

GROUPS = ("staff", "board", "crew")
NAMES = ("River Gauge", "Flood Warning", "Harbour Plan", "Tide Table", "Pilot Service", "Ferry Line", "Lock Keeper")
VERBS = ("uses", "depends on", "replaces", "is part of", "was written by")


def sources_in(value: Any) -> Iterator[str]:
    """Every id of a document in a payload, wherever it is."""
    if isinstance(value, dict):
        for each in value.values():
            yield from sources_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from sources_in(each)
    elif isinstance(value, str) and value.startswith("kb:"):
        yield value


def texts_in(event: Any) -> str:
    return str(event.payload.model_dump_json())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "retrieval",
    [
        {"retrievers": ["bm25", "graph"]},
        {"strategy": "index"},
        {"retrievers": ["bm25", "graph"], "semantic_cache": {"mode": "on"}, "passages": 12},
    ],
)
async def test_no_fact_has_a_passage_outside_the_askers_groups(
    tmp_path: Path, seed: int, retrieval: dict[str, Any]
) -> None:
    chance = random.Random(seed)
    sections = {"retrieval": retrieval}
    settings = Settings(data_dir=tmp_path, port=0)
    allowed: dict[str, tuple[str, ...]] = {}
    marks: dict[str, str] = {}
    async with MemoryBus(*map(builder, STAGES), settings=settings, sections=sections) as bus:
        pipeline = bus.pipelines.current("default")
        assert pipeline

        async def write(name: str, number: int) -> None:
            source, mark = f"kb:{name.lower().replace(' ', '-')}-{number}.md", f"mark{chance.randrange(10**9)}"
            groups = tuple(chance.sample(GROUPS, chance.choice((0, 0, 1, 2))))
            said = [f"The {name} {chance.choice(VERBS)} the {other} of {mark}." for other in chance.sample(NAMES, 3)]
            document = Document(
                source=source, media_type="text/markdown", text=f"# {name}\n\n{' '.join(said)}\n", groups=groups
            )
            submitted = opening("gateway", DocumentSubmitted(document=document), pipeline=pipeline, deadline_seconds=60)
            await bus.publish(submitted)
            allowed[source], marks[source] = groups, mark

        for number in range(3):
            for name in NAMES:
                await write(name, number)
        for turn in range(40):
            if chance.random() < 0.2:
                await write(chance.choice(NAMES), chance.randrange(3))
            groups = tuple(chance.sample(GROUPS, chance.choice((0, 1, 1, 2))))
            one, other = chance.sample(NAMES, 2)
            text = f"What does the {one} have to do with the {other}?"
            asked = await bus.question(text, groups=groups, conversation_id=f"c{turn % 5}", asker=f"a{turn % 5}")
            for event in bus.history(asked.correlation_id):
                assert event.groups == groups
                for source in sources_in(event.payload.model_dump(mode="json")):
                    assert may_read(allowed[source], groups), (event.fact, source, allowed[source], groups)
                hidden = {mark for source, mark in marks.items() if not may_read(allowed[source], groups)}
                assert not [mark for mark in hidden if mark in texts_in(event)]
