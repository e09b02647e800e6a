"""When an experiment ends by itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerbus_lab.experiments.confidence_sequence import ALPHA, estimate
from answerbus_lab.experiments.pairs import MEASURES, Pair, differences, verdict

#: Measures that halt the experiment as soon as a loss is sure. Each gets its part of the error, so that all of
#: them together halt at most `ALPHA` of the experiments with an equal candidate.
_HARMS = tuple(measure for measure in MEASURES if measure.name in ("answered", "failed", "overall"))
_ALPHA = ALPHA / len(_HARMS)


@dataclass(frozen=True)
class Limits:
    """`most` pairs, `max_cost` US dollars of the candidate (0: no limit), `slower`: how many times the live pipeline's
    time the candidate may take in the mean (0: any).
    """

    most: int = 200
    max_cost: float = 0.0
    slower: float = 3.0


@dataclass(frozen=True)
class Halt:
    """Why an experiment ended; `harmful` if a guard halted it."""

    reason: str
    harmful: bool = False


def halted(pairs: Sequence[Pair], limits: Limits) -> Halt | None:
    """Whether the experiment ends after these pairs, and why."""
    for measure in _HARMS:
        estimated = estimate(differences(pairs, measure), _ALPHA)
        if verdict(measure.name, estimated) == "worse":
            return Halt(
                f"{measure.name} is worse: {estimated.mean:+.3f} ({estimated.low:+.3f} to {estimated.high:+.3f})",
                harmful=True,
            )
    live = sum(pair.live.elapsed_ms for pair in pairs) / len(pairs) if pairs else 0.0
    slower = estimate([pair.shadow.elapsed_ms - pair.live.elapsed_ms for pair in pairs], _ALPHA)
    if limits.slower and slower.low > (limits.slower - 1) * live:
        return Halt(f"elapsed_ms: more than {limits.slower:g} times as slow", harmful=True)
    cost = sum(pair.shadow.cost_usd for pair in pairs)
    if limits.max_cost and cost >= limits.max_cost:
        return Halt(f"the candidate has cost {cost:.4f} USD of {limits.max_cost:.4f}")
    if len(pairs) >= limits.most:
        return Halt(f"{len(pairs)} questions, as many as were wanted")
    return None
