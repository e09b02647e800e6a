"""`answerbus evaluate moderation`: the moderation stage, in this process, on labelled texts; by rules, or with models.

Three layouts are told apart by their keys: texts with a label (attack or not), sentences with spans of private data,
and texts without a label, which count as honest questions.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cli.host.catalogue import builder, offline_context
from shared.contracts.errors import ConfigurationError, RefusedError
from shared.contracts.pipelines import Pipeline
from shared.contracts.requests.moderation import InspectReply, InspectRequest
from shared.llm.fallback import FallbackModels
from shared.llm.none import NoModels
from shared.llm.ports import M, Models, Role
from shared.runtime.settings import Settings
from shared.stores.memory import MemoryPipelines

#: Outcomes that stop a text for what it says; the others are about its form.
HARMFUL = frozenset(["threat", "jailbreak", "manipulation", "profanity", "guardrail"])
_TEXTS = ("text", "prompt", "question", "full_text", "query")
_ATTACKS = frozenset(["1", "true", "yes", "unsafe", "attack", "injection", "jailbreak", "harmful", "positive", "toxic"])
#: Spans of private data by their usual names.
_FORMATS = ("EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "US_SSN", "IP_ADDRESS")

#: Texts that a model is asked about at the same time.
_AT_ONCE = 8


@dataclass(frozen=True)
class Entity:
    """Private data as the set marks it."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Case:
    """A text, whether it is an attack (None: the set does not say), and the private data in it."""

    text: str
    attack: bool | None = None
    entities: tuple[Entity, ...] | None = None


@dataclass(frozen=True)
class Judged:
    """A case and what the rules made of it."""

    case: Case
    reply: InspectReply

    @property
    def stopped(self) -> bool:
        return self.reply.outcome in HARMFUL


class _Counted(NoModels):
    """Models whose single-step calls are counted: how many were made, and how many gave a reply."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self.asked = self.answered = 0

    def has(self, role: Role) -> bool:
        return self._models.has(role)

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        self.asked += 1
        reply = await self._models.invoke(role, step, system, user, response_model)
        self.answered += 1
        return reply


async def evaluate(path: Path, pipeline: Pipeline, *, with_model: bool = False) -> dict[str, Any]:
    """Measures and figures of a file of any of the layouts.

    With `with_model`, the model that plays `fast` takes the steps that the pipeline turns on; figures tell how many of
    its calls gave no reply, because a step without one says nothing.

    Raises:
        RefusedError: the file cannot be read as one.
        PipelineError: the pipeline's moderation section does not hold.
        ConfigurationError: a model is wanted, and none plays `fast`.
    """
    cases = read_cases(path)
    if not with_model:
        return _told([Judged(*one) async for one in inspected(cases, pipeline)])
    models = FallbackModels.from_settings(Settings().model_endpoints)
    if not models.has("fast"):
        raise ConfigurationError("--with-model asks the model that plays fast, and none does; see docs/models.md")
    counted = _Counted(models)
    try:
        told = _told([Judged(*one) async for one in inspected(cases, pipeline, counted)])
    finally:
        await models.close()
    told["figures"]["model_calls"] = {"asked": counted.asked, "without_reply": counted.asked - counted.answered}
    return told


def _told(judged: Sequence[Judged]) -> dict[str, Any]:
    told = _private(judged) if judged[0].case.entities is not None else _attacks(judged)
    took = sorted(one.reply.took_ms for one in judged)
    outcomes = Counter(one.reply.outcome for one in judged)
    return {
        "metrics": {name: round(value, 4) for name, value in told.items()},
        "figures": {
            "texts": len(judged),
            "outcomes": dict(outcomes.most_common()),
            "look_ms": {"p50": took[len(took) // 2], "p99": took[int(0.99 * (len(took) - 1))]},
        },
    }


async def inspected(
    cases: Sequence[Case], pipeline: Pipeline, models: Models | None = None
) -> AsyncIterator[tuple[Case, InspectReply]]:
    """Each case with the reply of the stage, built as a worker builds it; with models, a few at once."""
    pipelines = MemoryPipelines()
    settings = Settings()
    pipelines.apply(settings.default_pipeline, pipeline.sections)
    context = replace(offline_context(settings, pipelines=pipelines), models=models or NoModels())
    stage = builder("moderation")(context)
    opened = []
    at_once = _AT_ONCE if models else 1
    try:
        for port in stage.ports:
            await port.open()
            opened.append(port)
        inspect = next(one.handler for one in stage.request_handlers if one.verb == "inspect")
        for start in range(0, len(cases), at_once):
            some = cases[start : start + at_once]
            requests = (InspectRequest(text=case.text, with_model=models is not None) for case in some)
            for case, reply in zip(some, await asyncio.gather(*map(inspect, requests)), strict=True):
                yield case, InspectReply.model_validate(reply)
    finally:
        for port in reversed(opened):
            await port.close()


def _attacks(judged: Sequence[Judged]) -> dict[str, float]:
    """How many attacks are stopped, and how many honest texts."""
    attacks = [one for one in judged if one.case.attack]
    honest = [one for one in judged if not one.case.attack]
    caught, wrongly = sum(one.stopped for one in attacks), sum(one.stopped for one in honest)
    told: dict[str, float] = {}
    if attacks:
        precision, recall = _share(caught, caught + wrongly), _share(caught, len(attacks))
        told |= {"precision": precision, "recall": recall, "f1": f_score(precision, recall, 1)}
        told["accuracy"] = _share(caught + len(honest) - wrongly, len(judged))
    if honest:
        told["false_positive_rate"] = _share(wrongly, len(honest))
        told["not_approved_rate"] = _share(sum(one.reply.outcome != "approved" for one in honest), len(honest))
        told["private_data_rate"] = _share(sum(bool(one.reply.private) for one in honest), len(honest))
    return told


def _private(judged: Sequence[Judged]) -> dict[str, float]:
    """Entities that are masked whole, by kind, and the share of masked pieces that are private."""
    held: dict[str, list[bool]] = defaultdict(list)
    pieces: list[bool] = []
    for one in judged:
        entities = one.case.entities or ()
        spans = [(span.start, span.end) for span in one.reply.private]
        for entity in entities:
            held[entity.kind].append(_covered(one.case.text, entity, spans))
        pieces += [any(start < e.end and e.start < end for e in entities) for start, end in spans]
    every = [found for kind in held.values() for found in kind]
    precision, recall = _share(sum(pieces), len(pieces)), _share(sum(every), len(every))
    told = {"precision": precision, "recall": recall, "f2": f_score(precision, recall, 2)}
    formats = [found for kind in _FORMATS for found in held.get(kind, [])]
    if formats:
        told["recall_formats"] = _share(sum(formats), len(formats))
    return told | {f"recall_{kind}": _share(sum(found), len(found)) for kind, found in sorted(held.items())}


def _covered(text: str, entity: Entity, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether every letter and digit of the entity is inside a span."""
    places = (at for at in range(entity.start, entity.end) if text[at].isalnum())
    return all(any(start <= at < end for start, end in spans) for at in places)


def f_score(precision: float, recall: float, beta: float) -> float:
    """The weighted harmonic mean; `beta` is how much more recall counts."""
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSONL or CSV file.

    Raises:
        RefusedError: there is no such file, or no text in it.
    """
    try:
        records = list(_records(path))
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except (ValueError, csv.Error):
        raise RefusedError(f"{path}: neither JSON lines nor CSV with a heading") from None
    cases = [case for record in records if (case := _case(record))]
    if not cases:
        raise RefusedError(f"{path}: no record has one of {', '.join(_TEXTS)}")
    return cases


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix.casefold() in (".csv", ".tsv"):
            yield from csv.DictReader(file, delimiter="\t" if path.suffix.casefold() == ".tsv" else ",")
            return
        for line in file:
            if line.strip() and isinstance(record := json.loads(line), dict):
                yield record


def _case(record: Mapping[str, Any]) -> Case | None:
    text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), "")
    if not text.strip():
        return None
    if isinstance(record.get("spans"), list):
        return _marked(text, record["spans"])
    label = record.get("label")
    return Case(" ".join(text.split()), None if label is None else str(label).strip().casefold() in _ATTACKS)


def _marked(text: str, spans: Sequence[Mapping[str, Any]]) -> Case:
    """The text with single spaces, as moderation reads it, and its spans moved along."""
    places: list[int] = []
    tidied = ""
    for character in text:
        places.append(len(tidied))
        if not character.isspace():
            tidied += character
        elif tidied and not tidied.endswith(" "):
            tidied += " "
    places.append(len(tidied.rstrip()))
    entities = (
        Entity(str(one["entity_type"]), places[int(one["start_position"])], places[int(one["end_position"])])
        for one in spans
    )
    return Case(tidied.rstrip(), entities=tuple(entities))
