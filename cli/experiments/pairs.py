"""A live question and its shadow, side by side: measures, differences, segments. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.contracts.domain import Value
from shared.contracts.outcome import OUTCOMES, OutcomeName
from shared.operations.confidence_sequence import Estimate, estimate


class Side(Value):
    """How a pipeline ended a question; `overall` is the score with which an answer passed, None without one."""

    id: str
    pipeline: str
    outcome: OutcomeName
    answer: str = ""
    type: str = ""
    overall: float | None = None
    confidence: float = 0.0
    elapsed_ms: float = 0.0
    cost_usd: float = 0.0

    @property
    def failed(self) -> bool:
        return self.outcome == "abandoned"

    @property
    def answered(self) -> bool:
        return OUTCOMES[self.outcome].has_answer and self.type == "normal"


class Pair(Value):
    """A question with the answer of the live pipeline and that of the candidate."""

    question: str
    language: str
    live: Side
    shadow: Side


@dataclass(frozen=True)
class Measure:
    """What is compared: candidate minus live; `better` is 1 where more is better, -1 where less is."""

    name: str
    better: int
    of: Callable[[Side], float | None]


MEASURES = (
    Measure("answered", 1, lambda side: float(side.answered)),
    Measure("failed", -1, lambda side: float(side.failed)),
    Measure("overall", 1, lambda side: side.overall),
    Measure("confidence", 1, lambda side: side.confidence / 10 if side.answered else None),
    Measure("elapsed_ms", -1, lambda side: side.elapsed_ms),
    Measure("cost_usd", -1, lambda side: side.cost_usd),
)


def side(reply: Mapping[str, Any]) -> Side:
    """The side of an exchange as `GET /api/v1/exchanges/{id}` gives it."""
    exchange = reply["exchange"]
    return Side(
        id=exchange["id"],
        pipeline=f"{exchange['pipeline']}@{exchange['pipeline_revision']}",
        outcome=exchange["outcome"],
        answer=exchange["answer_text"],
        type=(exchange["answer"] or {}).get("type", ""),
        overall=(exchange["scores"] or {}).get("overall"),
        confidence=exchange["confidence"],
        elapsed_ms=exchange["elapsed_ms"],
        cost_usd=exchange["usage"]["cost_usd"],
    )


def differences(pairs: Sequence[Pair], measure: Measure) -> list[float]:
    """Candidate minus live, for the pairs of which both sides have the measure."""
    both = [(measure.of(pair.shadow), measure.of(pair.live)) for pair in pairs]
    return [shadow - live for shadow, live in both if shadow is not None and live is not None]


def compared(pairs: Sequence[Pair]) -> dict[str, Estimate]:
    """Every measure that at least one pair has."""
    found = {measure.name: estimate(differences(pairs, measure)) for measure in MEASURES}
    return {name: one for name, one in found.items() if one.count}


def by_language(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """The pairs of each language, the most frequent first."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.language, []).append(pair)
    return dict(sorted(found.items(), key=lambda one: -len(one[1])))


def verdict(name: str, one: Estimate) -> str:
    """`better`, `worse`, or `open` while the interval holds zero."""
    sign = next(measure.better for measure in MEASURES if measure.name == name)
    if one.above:
        return "better" if sign > 0 else "worse"
    if one.below:
        return "worse" if sign > 0 else "better"
    return "open"
