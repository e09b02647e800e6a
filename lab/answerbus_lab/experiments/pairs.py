"""A live question and its shadow, side by side: measures, differences, segments. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerbus_lab.experiments.confidence_sequence import LEAST, Estimate, detectable, estimate
from shared.contracts.domain import Value
from shared.contracts.outcome import OUTCOMES, OutcomeName


class Side(Value):
    """How a pipeline ended a question; `overall` is the score with which an answer passed, None without one.

    `sources` are those that the answer cites.
    """

    id: str
    pipeline: str
    outcome: OutcomeName
    answer: str = ""
    type: str = ""
    overall: float | None = None
    confidence: float = 0.0
    elapsed_ms: float = 0.0
    cost_usd: float = 0.0
    sources: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.outcome == "abandoned"

    @property
    def answered(self) -> bool:
        return OUTCOMES[self.outcome].has_answer and self.type == "normal"


class Pair(Value):
    """A question with the answer of the live pipeline and that of the candidate.

    `department` and `question_class` are those that the live pipeline found, empty where it found none; `tenant` is
    empty in pairs of earlier versions.
    """

    question: str
    language: str
    tenant: str = ""
    department: str = ""
    question_class: str = ""
    live: Side
    shadow: Side


@dataclass(frozen=True)
class Measure:
    """A comparison: candidate minus live; `better` is 1 where more is better, -1 where less is."""

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
        sources=tuple(dict.fromkeys(citation["source"] for citation in exchange["citations"])),
    )


def differences(pairs: Sequence[Pair], measure: Measure) -> list[float]:
    """Candidate minus live, for the pairs with the measure on both sides."""
    both = [(measure.of(pair.shadow), measure.of(pair.live)) for pair in pairs]
    return [shadow - live for shadow, live in both if shadow is not None and live is not None]


def compared(pairs: Sequence[Pair]) -> dict[str, Estimate]:
    """Every measure that at least one pair has."""
    found = {measure.name: estimate(differences(pairs, measure)) for measure in MEASURES}
    return {name: difference for name, difference in found.items() if difference.count}


def pair_of(live: Mapping[str, Any], shadow: Mapping[str, Any]) -> Pair:
    """The pair of two exchanges as `GET /api/v1/exchanges/{id}` gives them."""
    exchange = live["exchange"]
    route = exchange["details"].get("route") or {}
    return Pair(
        question=exchange["question"],
        language=exchange["language"],
        tenant=exchange.get("tenant", ""),
        department=(exchange["context"] or {}).get("department", ""),
        question_class=route.get("question_class", ""),
        live=side(live),
        shadow=side(shadow),
    )


#: The deviation of a difference of zeros and ones if a quarter of the pairs differ.
USUAL_DEVIATION = 0.5
#: How pairs are segmented: the values of a pair, which may be in several segments (sources) or in none.
SEGMENTS: dict[str, Callable[[Pair], tuple[str, ...]]] = {
    "language": lambda pair: (pair.language,),
    "class": lambda pair: (pair.question_class,),
    "department": lambda pair: (pair.department,),
    "source": lambda pair: pair.live.sources,
}


def by_segment(pairs: Sequence[Pair], segment: str) -> dict[str, list[Pair]]:
    """The pairs by a segment of `SEGMENTS`, the most frequent value first; pairs without a value are left out."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        for value in filter(None, SEGMENTS[segment](pair)):
            found.setdefault(value, []).append(pair)
    return dict(sorted(found.items(), key=lambda segment: (-len(segment[1]), segment[0])))


def detectable_text(most: int) -> str:
    """What this many pairs can show, before the first is asked."""
    counts = sorted({count for count in (50, 200, most) if LEAST <= count <= most})
    if not counts:
        return f"{most} pairs show nothing: intervals begin at {LEAST}"
    shown = ", ".join(f"{detectable(count, USUAL_DEVIATION):.0%} with {count} pairs" for count in counts)
    return f"differences of `answered` that four of five experiments find, if a quarter of the pairs differ: {shown}"


def verdict(name: str, one: Estimate) -> str:
    """`better`, `worse`, or `open` while the interval holds zero."""
    sign = next(measure.better for measure in MEASURES if measure.name == name)
    if one.above:
        return "better" if sign > 0 else "worse"
    if one.below:
        return "worse" if sign > 0 else "better"
    return "open"
