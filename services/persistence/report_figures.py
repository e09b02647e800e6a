"""The figures of a report, whatever its shape. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

#: Figures that are told of one report, the first in its order, and how deep they may stand in it.
MOST_FIGURES, MOST_DEEP = 60, 4
_MOST_CHARS = 120


def figures_of(report: dict[str, Any]) -> dict[str, float]:
    """The numbers of the report by their place (`scores.overall`); lists, such as single answers, are left out."""
    found: dict[str, float] = {}
    for place, value in _numbers(report, "", MOST_DEEP):
        if len(found) >= MOST_FIGURES:
            break
        found[place] = value
    return found


def _numbers(value: dict[str, Any], place: str, depth: int) -> Iterator[tuple[str, float]]:
    for name, one in value.items():
        path = f"{place}.{name}" if place else name
        if isinstance(one, dict) and depth > 1:
            yield from _numbers(one, path, depth - 1)
        elif isinstance(one, int | float) and not isinstance(one, bool) and len(path) <= _MOST_CHARS:
            number = float(one) if abs(one) < 1e300 else math.inf
            if math.isfinite(number):
                yield path, number
