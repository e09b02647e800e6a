"""Prometheus metrics of the record: updated with the rollups of every commit, so that each exchange counts once."""

from __future__ import annotations

from collections.abc import Mapping

from services.persistence.rollups import Rollup, RollupKey
from shared.observability import telemetry

_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")


def update_metrics(totals: Mapping[RollupKey, Rollup]) -> None:
    """Add the rollups of one commit. Each entry is in the rollup of its hour and of its day; only the hours count."""
    for key, rollup in totals.items():
        if key.span == "hour":
            _update_pipeline(key.pipeline, rollup)


def _update_pipeline(pipeline: str, rollup: Rollup) -> None:
    for outcome, count in rollup.by_label("outcome").items():
        telemetry.EXCHANGES.labels(pipeline, outcome).inc(count)
    for reply, count in rollup.by_label("reply").items():
        telemetry.REPLIES.labels(pipeline, reply).inc(count)
    for kind, count in rollup.by_label("reused").items():
        telemetry.EXCHANGES_HELPED.labels(pipeline, f"reused_{kind}").inc(count)
    for kind in ("reranked", "retried"):
        if rollup.counts[kind]:
            telemetry.EXCHANGES_HELPED.labels(pipeline, kind).inc(rollup.counts[kind])
    for rating, count in rollup.by_label("rating").items():
        telemetry.FEEDBACK.labels(pipeline, "up" if rating == "1" else "down").inc(count)
    for counted, summed in (("scored", "score"), ("evaluated", "evaluation")):
        if rollup.counts[counted]:
            telemetry.SCORED.labels(pipeline, summed).inc(rollup.counts[counted])
            for name, total in rollup.by_label(summed).items():
                telemetry.SCORES.labels(pipeline, summed, name).inc(total)
    for kind in _TOKENS:
        for model, amount in rollup.by_label(kind).items():
            telemetry.TOKENS.labels(pipeline, model, kind.removesuffix("_tokens")).inc(amount)
    for model, cost in rollup.by_label("cost_usd").items():
        telemetry.COST.labels(pipeline, model).inc(cost)
