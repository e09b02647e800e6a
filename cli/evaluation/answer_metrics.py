"""How good the answers of a run are: measures of every question, of the run, and of one pipeline against another. Pure.

Rates are shares of all questions; scores are means over the answers that have them, from 0 to 1. `similarity` is the F1
of the stems of answer and expected answer (function words aside), as question answering has it since SQuAD.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cli.evaluation.batch_run import row_cost
from cli.evaluation.questions_file import Item
from cli.evaluation.ranking_metrics import compare, interval
from shared.contracts.outcome import OUTCOMES
from shared.text.analysis import stems
from shared.text.languages import UNKNOWN, code3

Rows = Mapping[int, Mapping[str, Any]]
Measures = dict[str, float]

#: Measures of a question that more is better of; the others are figures.
BETTER = (
    *("answered", "sentence_support", "sentence_score", "citation_score", "groundedness", "relevancy", "completeness"),
    *("overall", "source_hit", "similarity", "agreement", "confidence"),
)
#: ... and that less is better of.
LESS = ("latency_ms", "tokens", "cost_usd")
#: What two answers to one question are told apart by, for the list of those that changed most.
_CHANGE = ("answered", "overall", "similarity", "agreement", "source_hit")
#: Differences below this are ties: they are of rounding.
_TIE = 1e-9

#: How a question can end in a report: an answer may say that nothing was found, the others are those of the outcomes.
ENDS = tuple(dict.fromkeys(("answered", "not_found", *(traits.reported_as for traits in OUTCOMES.values()))))


def ending(row: Mapping[str, Any]) -> str:
    """One word of `ENDS`."""
    if row.get("outcome") == "refused":  # by the gateway, before it became a question
        return "declined"
    traits = OUTCOMES.get(row.get("outcome", ""), OUTCOMES["abandoned"])
    if not traits.has_answer:
        return traits.reported_as
    by_type = {"not_found": "not_found", "refusal": "declined", "clarification": "clarified"}
    return by_type.get(str(row.get("type")), traits.reported_as)


def measures(item: Item, row: Mapping[str, Any]) -> Measures:
    """Every measure that applies to this question."""
    how = ending(row)
    told: Measures = {name: float(how == name) for name in ENDS}
    told |= {"tokens": float(row.get("tokens") or 0), "cost_usd": row_cost(dict(row))}
    if "total_ms" in row:
        told["latency_ms"] = float(row["total_ms"])
    if how == "answered":
        told["confidence"] = float(row.get("confidence") or 0) / 10
        told |= _evaluated(row)
    if item.expected_sources:
        told["source_hit"] = float(any(cites(row, one) for one in item.expected_sources))
    if item.expected_answer:
        answer = str(row.get("answer", "")) if how == "answered" else ""
        told["similarity"] = similarity(answer, item.expected_answer, _language(item, row))
        if row.get("agreement") is not None:
            told["agreement"] = float(row["agreement"])
    return told


def similarity(answer: str, expected: str, language: str) -> float:
    """F1 of the stems of the two texts, 0 to 1."""
    said, wanted = Counter(stems(answer, language)), Counter(stems(expected, language))
    shared = (said & wanted).total()
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0


def cites(row: Mapping[str, Any], expected: str) -> bool:
    """Whether a citation is of this source: its id, with or without what stands before the colon, or its address."""
    for one in row.get("citations", ()):
        source = str(one.get("source", ""))
        if expected in (source, source.partition(":")[2], str(one.get("url", ""))):
            return True
    return False


def table(items: Sequence[Item], rows: Rows) -> dict[int, Measures]:
    """The measures of every question that has been asked, by line."""
    return {item.line: measures(item, rows[item.line]) for item in items if item.line in rows}


def metrics(measured: Mapping[int, Measures]) -> dict[str, float]:
    """The run in figures: rates, means, percentiles (nearest rank) and sums."""
    told: dict[str, float] = {"questions": float(len(measured))}
    told |= {f"{name}_rate": _mean(_column(measured, name)) for name in ENDS}
    for name in BETTER[1:]:
        if values := _column(measured, name):
            told[name] = _mean(values)
    times = sorted(_column(measured, "latency_ms"))
    if times:
        told |= {
            f"latency_p{share}_ms": times[max(0, math.ceil(len(times) * share / 100) - 1)] for share in (50, 95, 99)
        }
    told |= {"tokens": sum(_column(measured, "tokens")), "cost_usd": sum(_column(measured, "cost_usd"))}
    return {name: round(value, 6) for name, value in told.items()}


def spreads(measured: Mapping[int, Measures]) -> dict[str, tuple[float, float]]:
    """The 95 % bootstrap interval of every mean."""
    found = {}
    for name in BETTER:
        if values := _column(measured, name):
            low, high = interval(values)
            found["answered_rate" if name == "answered" else name] = (round(low, 4), round(high, 4))
    return found


def against(ours: Mapping[int, Measures], theirs: Mapping[int, Measures]) -> dict[str, dict[str, float]]:
    """For every measure ours − theirs on the questions that both have it of: paired bootstrap, wins, losses, ties."""
    told = {}
    for name in (*BETTER, *LESS):
        common = [line for line in ours if line in theirs and name in ours[line] and name in theirs[line]]
        if not common:
            continue
        pair = [{str(line): {name: side[line][name]} for line in common} for side in (ours, theirs)]
        sign = -1 if name in LESS else 1
        differences = [sign * (ours[line][name] - theirs[line][name]) for line in common]
        told[name] = {
            **compare(*pair)[name],
            "wins": sum(one > _TIE for one in differences),
            "losses": sum(one < -_TIE for one in differences),
            "ties": sum(abs(one) <= _TIE for one in differences),
        }
    return told


def changed_most(ours: Mapping[int, Measures], theirs: Mapping[int, Measures], most: int) -> list[tuple[int, float]]:
    """Lines whose answers differ most in quality, with the sum of the differences (positive: ours is better)."""
    found = []
    for line in ours:
        if line in theirs:
            both = [name for name in _CHANGE if name in ours[line] and name in theirs[line]]
            found.append((line, round(sum(ours[line][name] - theirs[line][name] for name in both), 4)))
    changed = [one for one in found if abs(one[1]) > _TIE]
    return sorted(changed, key=lambda one: (-abs(one[1]), one[0]))[:most]


def _evaluated(row: Mapping[str, Any]) -> Measures:
    evaluation = row.get("evaluation") or {}
    scores = evaluation.get("scores") or row.get("scores") or {}
    told = {name: float(scores[name]) for name in ("groundedness", "relevancy", "completeness", "overall") if scores}
    if sentences := evaluation.get("sentences"):
        told["sentence_support"] = _mean([float(one["supported"]) for one in sentences])
        told["sentence_score"] = _mean([one["score"] / 100 for one in sentences])
    if citations := evaluation.get("citations"):
        told["citation_score"] = _mean([one["score"] / 25 for one in citations])
    return told


def _language(item: Item, row: Mapping[str, Any]) -> str:
    spoken = item.language or str(row.get("language") or "")
    return code3(spoken) if spoken and spoken != UNKNOWN else UNKNOWN


def _column(measured: Mapping[int, Measures], name: str) -> list[float]:
    return [one[name] for one in measured.values() if name in one]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
