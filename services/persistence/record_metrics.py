"""What Prometheus is told of every commit: the same figures as the statistics', each exchange once."""

from __future__ import annotations

from collections.abc import Mapping

from services.persistence.rollups import Figures, Place
from shared.observability import telemetry

_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")


def meter(totals: Mapping[Place, Figures]) -> None:
    """Add the figures of one commit; each is there for its hour and for its day, and counts once."""
    for place, figures in totals.items():
        if place.span == "hour":
            _of_pipeline(place.pipeline, figures)


def _of_pipeline(pipeline: str, figures: Figures) -> None:
    for outcome, count in figures.of("outcome").items():
        telemetry.EXCHANGES.labels(pipeline, outcome).inc(count)
    for kind, count in figures.of("reused").items():
        telemetry.EXCHANGES_HELPED.labels(pipeline, f"reused_{kind}").inc(count)
    for kind in ("reranked", "retried"):
        if figures.counts[kind]:
            telemetry.EXCHANGES_HELPED.labels(pipeline, kind).inc(figures.counts[kind])
    for rating, count in figures.of("rating").items():
        telemetry.FEEDBACK.labels(pipeline, "up" if rating == "1" else "down").inc(count)
    for counted, summed in (("scored", "score"), ("evaluated", "evaluation")):
        if figures.counts[counted]:
            telemetry.SCORED.labels(pipeline, summed).inc(figures.counts[counted])
            for name, total in figures.of(summed).items():
                telemetry.SCORES.labels(pipeline, summed, name).inc(total)
    for kind in _TOKENS:
        for model, amount in figures.of(kind).items():
            telemetry.TOKENS.labels(pipeline, model, kind.removesuffix("_tokens")).inc(amount)
    for model, cost in figures.of("cost_usd").items():
        telemetry.COST.labels(pipeline, model).inc(cost)
