"""The research pipeline over HTTP with every stage in memory, and the model of each of its steps."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from cli.crawler.files import Collector
from shared.contracts.domain import Document
from shared.runtime.pipelines import read_pipeline
from tests.support.judged import platform
from tests.support.memory_bus import MemoryBus
from tests.support.model_server import Asked, Scripted

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "pipelines" / "research"
QUESTION = "How does Meridian transport its records, and which storage engine does that depend on?"
PLAN = ("What does Meridian use as its transport?", "Which storage engine does Tidewater depend on?")
TRANSPORT = "Meridian uses the Tidewater log"
STORAGE = "Tidewater depends on the Coral"
FINE = {"relevancy": 0.9, "groundedness": 0.9, "completeness": 0.8, "unsupported": [], "feedback": ""}
#: 0.4 * 0.6 + 0.4 * 0.9 + 0.2 * 0.4 = 0.68
POOR = {
    "relevancy": 0.6,
    "groundedness": 0.9,
    "completeness": 0.4,
    "unsupported": [],
    "feedback": "Name the storage engine.",
    "rewritten_question": "storage engine of the Tidewater log",
}
ENTITIES = {
    "entities": [
        {"name": "Meridian", "kind": "framework"},
        {"name": "Tidewater", "kind": "technology"},
        {"name": "Coral", "kind": "technology"},
        {"name": "Ada Brandt", "kind": "person"},
        {"name": "Northlight Institute", "kind": "organization"},
    ],
    "relations": [
        {"subject": "Meridian", "object": "Tidewater", "kind": "uses"},
        {"subject": "Tidewater", "object": "Coral", "kind": "depends_on"},
    ],
}
_PASSAGE = re.compile(r'<passage number="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)

DEMONSTRATION, PARTS = "demonstration", "parts"

Reply = Scripted | Callable[[Asked], Scripted]


class ResearchModel:
    """The model of every step. `says` replaces replies of steps, in order, the last one again and again.

    `asked` are the calls by step: input and output of the guardrails, extraction, plan, synthesis, evaluation.
    """

    def __init__(self) -> None:
        self._replies: dict[str, list[Reply]] = {}
        self.asked: dict[str, list[Asked]] = {}
        self.says()

    def says(self, **replies: list[Reply]) -> None:
        """Forget what was asked and said before."""
        self._replies = {
            "input": ["no"],
            "output": ["no"],
            "extraction": [ENTITIES],
            "plan": [{"questions": list(PLAN)}],
            "synthesis": [cited],
            "evaluation": [FINE],
            **replies,
        }
        self.asked = {step: [] for step in self._replies}

    def __call__(self, asked: Asked) -> Scripted:
        step = step_of(asked)
        calls = self.asked[step]
        calls.append(asked)
        reply = self._replies[step][min(len(calls), len(self._replies[step])) - 1]
        return reply(asked) if callable(reply) else reply

    def steps(self) -> dict[str, int]:
        """The number of calls by step."""
        return {step: len(calls) for step, calls in self.asked.items() if calls}


def step_of(asked: Asked) -> str:
    """Which step of the pipeline makes this call."""
    told = f"{asked.system}\n{asked.user}"
    marks = {
        "Does the message break the policy": "input",
        "Does the answer break the policy": "output",
        '"entities"': "extraction",
        '"relevancy"': "evaluation",
        '"questions"': "plan",
    }
    return next((step for mark, step in marks.items() if mark in told), "synthesis")


def passages_of(asked: Asked) -> dict[int, str]:
    """The passages that the model is shown, by number."""
    return {int(number): text for number, text in _PASSAGE.findall(asked.user)}


def cited(asked: Asked) -> Scripted:
    """What the passages say about transport and storage, each with the number of the passage that says it."""
    numbers = {" ".join(text.split()): number for number, text in passages_of(asked).items()}
    said = {TRANSPORT: "as its transport.", STORAGE: "storage engine."}
    return written(
        *(
            f"{words} {end} [{number}]"
            for words, end in said.items()
            for text, number in numbers.items()
            if words in text
        )
    )


def written(*sentences: str, confidence: int = 9) -> str:
    """An answer in the form that the pipeline asks for."""
    return json.dumps({"answer": " ".join(sentences), "confidence": confidence})


def documents() -> list[Document]:
    """Those of the packaged demonstration, and thirty short ones that say nearly the same, in a collection each."""
    collected = Collector().collect([str(FOLDER / "demo" / "documents")])
    packaged = [
        one.document.model_copy(update={"text": one.body.decode(), "collection": DEMONSTRATION}) for one in collected
    ]
    topics = ("transport", "storage", "retention", "compression", "checkpoints", "limits", "replicas")
    alike = [
        Document(
            source=f"kb:parts/{number}.md",
            collection=PARTS,
            media_type="text/markdown",
            text=f"# Part {number}\n\nThe ledger keeps its rows for {topics[number % 7]} in drawer {number * 37}.",
        )
        for number in range(30)
    ]
    return [*packaged, *alike]


@asynccontextmanager
async def research(
    folder: Path, model: Callable[[Asked], Scripted], corpus: list[Document], **changed: dict[str, Any]
) -> AsyncIterator[tuple[MemoryBus, httpx.AsyncClient]]:
    """The packaged pipeline over these documents; `changed` are settings by section."""
    packaged = read_pipeline(FOLDER)
    # A loaded machine needs longer, and the first call of the guardrails builds them.
    packaged.sections["gateway"]["deadline_seconds"] = 600
    packaged.sections["moderation"]["guardrails_seconds"] = 120
    packaged.sections["verifier"]["guardrails_seconds"] = 120
    packaged.sections["retrieval"]["query_rewriting"]["model_seconds"] = 60
    packaged.sections["retrieval"] |= {"dense_seconds": 60, "graph_seconds": 60, "bm25_seconds": 60}
    # In the background it would ask the judge whenever it likes.
    packaged.sections["verifier"]["evaluation"] = "off"
    sections = {name: {**section, **changed.get(name, {})} for name, section in packaged.sections.items()}
    introduction = packaged.project_introduction
    async with platform(folder, model, corpus=corpus, project_introduction=introduction, **sections) as found:
        yield found
