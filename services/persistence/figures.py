"""Percentiles for the statistics, by nearest rank. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from services.persistence.ports import Sample
from shared.asks.persistence import Percentiles, StageFigures


def percentiles(values: Iterable[float]) -> Percentiles:
    """The 50th, 95th and 99th percentile, each a value that was really measured; zero when there is none."""
    ordered = sorted(values)
    if not ordered:
        return Percentiles()
    return Percentiles(p50=_rank(ordered, 50), p95=_rank(ordered, 95), p99=_rank(ordered, 99))


def by_stage(samples: Iterable[Sample]) -> tuple[StageFigures, ...]:
    """Each stage's figures, in the order in which questions met the stages; an attempt more is a measurement more."""
    waited: dict[str, list[float]] = defaultdict(list)
    worked: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for timing in sample.timeline:
            waited[timing.stage].append(timing.waited_ms)
            worked[timing.stage].append(timing.worked_ms)
    return tuple(
        StageFigures(stage=stage, waited=percentiles(waited[stage]), worked=percentiles(worked[stage]))
        for stage in waited
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
