"""Splits of live questions, which the platform runs: how the command line writes their weights. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from shared.contracts.errors import RefusedError
from shared.operations.confidence_sequence import LEAST
from shared.operations.split_guards import detectable_share


def weights_of(text: str) -> dict[str, float]:
    """The weights by pipeline of `default=90,candidate=10`.

    Raises:
        RefusedError: it is not written so.
    """
    found: dict[str, float] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, _, weight = part.partition("=")
        try:
            found[name.strip()] = float(weight)
        except ValueError:
            raise RefusedError(f"--weights {part[:60]}: write NAME=WEIGHT, such as default=90,candidate=10") from None
    if len(found) < 2:
        raise RefusedError("--weights: name the live pipeline and a candidate, such as default=90,candidate=10")
    return found


#: How often something bad happens to a question, in what is told before the start.
_BASE = 0.05


def detectable_text(weights: Mapping[str, float], pipeline: str) -> str:
    """What the guards can find, before the first question."""
    total = sum(weights.values())
    smallest = min((name for name in weights if name != pipeline), key=lambda name: weights[name], default="")
    told = []
    for questions in (500, 2000, 10_000):
        live, candidate = (max(1, round(questions * weights[name] / total)) for name in (pipeline, smallest))
        if min(live, candidate) < LEAST:
            continue
        more = detectable_share(live, candidate, _BASE, len(weights) - 1)
        told.append(f"{_BASE + more:.0%} after {questions:,} questions ({candidate:,} of {smallest})")
    found = "; ".join(told) or "nothing within 10,000 questions"
    return (
        f"where {_BASE:.0%} of the live answers fail, four of five experiments halt a candidate that fails in {found}"
    )
