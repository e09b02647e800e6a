"""From what was added up to the statistics that are told. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from services.persistence.rollups import Figures, percentile
from shared.contracts.requests.persistence import (
    MeanScores,
    ModelFigures,
    Percentiles,
    PipelineFigures,
    Rates,
    StageFigures,
)

_SCORES = ("groundedness", "relevancy", "completeness", "overall")


def percentiles(times: Counter[str] | None) -> Percentiles:
    """The 50th, 95th and 99th percentile, each at most five percent off; zero when there is none."""
    if not times:
        return Percentiles()
    return Percentiles(p50=percentile(times, 50), p95=percentile(times, 95), p99=percentile(times, 99))


def stages(figures: Figures) -> tuple[StageFigures, ...]:
    """Each stage's figures; an attempt more is a measurement more."""
    names = [name.partition("|")[2] for name in figures.times if name.startswith("worked|")]
    return tuple(
        StageFigures(
            stage=name,
            waited=percentiles(figures.times.get(f"waited|{name}")),
            worked=percentiles(figures.times[f"worked|{name}"]),
        )
        for name in names
    )


def outcomes(figures: Figures) -> dict[str, int]:
    return {name: int(count) for name, count in figures.of("outcome").items()}


def rates(figures: Figures) -> Rates:
    """Shares of all questions, from 0 to 1."""
    ended = figures.of("outcome")
    total = sum(ended.values())
    if not total:
        return Rates()
    reused = figures.of("reused")
    return Rates(
        reused_exact=round(reused.get("exact", 0) / total, 4),
        reused_similar=round(reused.get("similar", 0) / total, 4),
        reranked=round(figures.counts["reranked"] / total, 4),
        clarification=round(ended.get("clarification", 0) / total, 4),
        retried=round(figures.counts["retried"] / total, 4),
    )


def means(figures: Figures, counted: str, summed: str) -> MeanScores:
    """The mean of each score over those that were scored."""
    count = int(figures.counts[counted])
    sums = figures.of(summed)
    told = {name: round(sums.get(name, 0.0) / count, 4) if count else 0.0 for name in _SCORES}
    return MeanScores(count=count, **told)


def spent(by_pipeline: Mapping[str, Figures]) -> tuple[ModelFigures, ...]:
    """Tokens and cost by pipeline and model, the dearest first."""
    found = [
        ModelFigures(
            pipeline=pipeline,
            model=model,
            calls=int(calls),
            input_tokens=int(figures.counts[f"input_tokens|{model}"]),
            output_tokens=int(figures.counts[f"output_tokens|{model}"]),
            cached_tokens=int(figures.counts[f"cached_tokens|{model}"]),
            cost_usd=round(float(figures.counts[f"cost_usd|{model}"]), 6),
        )
        for pipeline, figures in by_pipeline.items()
        for model, calls in figures.of("calls").items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.cost_usd, -one.input_tokens, one.pipeline, one.model)))


def of_pipeline(name: str, figures: Figures) -> PipelineFigures:
    ended = outcomes(figures)
    return PipelineFigures(
        pipeline=name,
        total=sum(ended.values()),
        outcomes=ended,
        elapsed=percentiles(figures.times.get("elapsed")),
        rates=rates(figures),
        scores=means(figures, "scored", "score"),
        evaluations=means(figures, "evaluated", "evaluation"),
        feedback_up=int(figures.counts["rating|1"]),
        feedback_down=int(figures.counts["rating|-1"]),
        cost_usd=round(float(sum(figures.of("cost_usd").values())), 6),
    )
