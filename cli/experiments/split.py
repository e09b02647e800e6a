"""Splits of live questions, which the platform runs: how the command line writes their weights. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.contracts.errors import RefusedError


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


def detectable_text(plan: Mapping[str, Any]) -> str:
    """What the guards can find, before the first question; `plan` as `POST /api/v1/experiments/plan` gives it."""
    told = [
        f"{one['found']:.0%} after {one['questions']:,} questions ({one['candidate']:,} of the smallest candidate)"
        for one in plan["detectable"]
    ]
    found = "; ".join(told) or "nothing within 10,000 questions"
    usual = f"{plan['usual']:.0%} of the live answers fail"
    return f"where {usual}, four of five experiments halt a candidate that fails in {found}"
