"""What is added up of every entry as it is recorded, so that statistics need no scan of the record. Pure.

Times go into buckets that grow by a tenth, as in a histogram of constant relative error: a percentile is told as the
middle of its bucket, at most five percent off. Figures of any pieces of time can be added, and no entry can be made
out of them again: they outlive what they were counted from.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

from services.persistence.ports import Entry, Evaluation, Feedback
from shared.contracts.domain import Lane, Usage
from shared.contracts.requests.persistence import Exchange

#: Buckets grow by this; the first ends at `SMALLEST` milliseconds.
GROWTH = 1.1
SMALLEST = 0.1
_LOG = math.log(GROWTH)
#: Between what was counted and what of it.
SEPARATOR = "|"

Span = Literal["hour", "day"]
SPANS: tuple[Span, ...] = ("hour", "day")


class Place(NamedTuple):
    """Where figures are kept: a piece of time of one pipeline."""

    span: Span
    starts_at: datetime
    pipeline: str


class Figures:
    """Counts (and sums) by name, and times by name and bucket; a name is `what` or `what|of which`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.times: dict[str, Counter[str]] = {}

    def count(self, what: str, which: str = "", amount: float = 1) -> None:
        name = f"{what}{SEPARATOR}{which}" if which else what
        self.counts[name] += amount  # type: ignore[assignment]

    def time(self, what: str, which: str, milliseconds: float) -> None:
        name = f"{what}{SEPARATOR}{which}" if which else what
        self.times.setdefault(name, Counter())[str(bucket(milliseconds))] += 1

    def add(self, other: Figures) -> None:
        self.counts.update(other.counts)
        for name, counted in other.times.items():
            self.times.setdefault(name, Counter()).update(counted)

    def of(self, what: str) -> dict[str, float]:
        """The counts of one kind, by what they are of."""
        prefix = f"{what}{SEPARATOR}"
        return {name.removeprefix(prefix): value for name, value in self.counts.items() if name.startswith(prefix)}

    def as_json(self) -> dict[str, Any]:
        return {"counts": dict(self.counts), "times": {name: dict(times) for name, times in self.times.items()}}

    @classmethod
    def read(cls, kept: dict[str, Any]) -> Figures:
        figures = cls()
        figures.counts.update(kept.get("counts", {}))
        for name, times in kept.get("times", {}).items():
            figures.times[name] = Counter(times)
        return figures


def bucket(milliseconds: float) -> int:
    """The bucket of a time; what a wrong clock made negative took no time."""
    return max(0, math.ceil(math.log(milliseconds / SMALLEST) / _LOG)) if milliseconds > SMALLEST else 0


def middle(number: int) -> float:
    """The time that stands for a bucket, in milliseconds."""
    return SMALLEST * GROWTH ** (number - 0.5) if number else SMALLEST / 2


def percentile(times: Counter[str], percent: int) -> float:
    """By nearest rank, in milliseconds; zero when there is none."""
    rank = math.ceil(times.total() * percent / 100)
    seen = 0
    for number in sorted(map(int, times)):
        seen += times[str(number)]
        if seen >= rank:
            return round(middle(number), 2)
    return 0.0


def started(span: Span, at: datetime) -> datetime:
    """When the hour or day (UTC) of a moment began."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    return hour if span == "hour" else hour.replace(hour=0)


def tallied(entries: Iterable[Entry]) -> dict[Place, Figures]:
    """The figures of entries that were heard for the first time; the background lane has none."""
    totals: dict[Place, Figures] = {}
    for entry in entries:
        told = figures_of(entry)
        if told is None:
            continue
        pipeline, at, figures = told
        for span in SPANS:
            totals.setdefault(Place(span, started(span, at), pipeline), Figures()).add(figures)
    return totals


def figures_of(entry: Entry) -> tuple[str, datetime, Figures] | None:
    """The pipeline, the moment and the figures of one entry; None where it does not count."""
    figures = Figures()
    if isinstance(entry, Exchange):
        if entry.lane != Lane.LIVE:
            return None
        _exchange(entry, figures)
        return entry.pipeline, entry.ended_at, figures
    if isinstance(entry, Feedback) and entry.pipeline:
        figures.count("rating", str(entry.rating))
        return entry.pipeline, entry.at, figures
    if isinstance(entry, Evaluation) and entry.pipeline:
        figures.count("evaluated")
        for name, score in entry.scores.model_dump().items():
            figures.count("evaluation", name, score)
        return entry.pipeline, entry.at, figures
    return None


def _exchange(exchange: Exchange, figures: Figures) -> None:
    figures.count("outcome", exchange.outcome)
    figures.time("elapsed", "", exchange.elapsed_ms)
    for timing in exchange.timeline:
        figures.time("waited", timing.stage, timing.waited_ms)
        figures.time("worked", timing.stage, timing.worked_ms)
    if exchange.outcome == "reused":
        # The gateway gives an exact repeat before any stage has worked on it.
        figures.count("reused", "similar" if exchange.timeline else "exact")
    if exchange.attempt or exchange.details.get("refuted"):
        figures.count("retried")
    if "second_look" in exchange.context.trace:
        figures.count("reranked")
    if exchange.scores is not None:
        figures.count("scored")
        for name, score in exchange.scores.model_dump().items():
            figures.count("score", name, score)
    evaluated = exchange.details.get("evaluation")
    if evaluated:
        figures.count("evaluated")
        for name, score in evaluated["scores"].items():
            figures.count("evaluation", name, score)
    for model, usage in _spent(exchange):
        figures.count("calls", model)
        for name, amount in usage.model_dump().items():
            if amount:
                figures.count(name, model, amount)


def _spent(exchange: Exchange) -> list[tuple[str, Usage]]:
    """What each call of a model cost, by model."""
    calls = exchange.details.get("model_calls", ())
    if calls:
        return [(call["model"] or call["endpoint"] or "unknown", Usage.model_validate(call["usage"])) for call in calls]
    return [("unknown", exchange.usage)] if exchange.usage != Usage() else []
