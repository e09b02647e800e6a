"""The HTTP part: a running platform beside a server that answers at once, loaded in turn by the same generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .chains import Say
from .http_baseline import running_baseline
from .http_load import LoadFigures, bodies, load, read_questions
from .report import Section

LIMIT = "limit"
PLATFORM = "platform"


@dataclass(frozen=True)
class HttpLoad:
    """What to ask of which platform; the questions are numbered, so that none is answered from the cache."""

    url: str
    questions: Path
    in_flight: int = 64
    count: int = 2000
    key: str = ""
    pipeline: str = ""


async def compare(plan: HttpLoad, *, rounds: int, say: Say) -> Section:
    """Load the limit and the platform alternately.

    Raises:
        RuntimeError: the platform answered nothing, so that there is no figure to print.
    """
    section = Section(
        name="http",
        title=f"POST /api/v1/query, {plan.in_flight} in flight, whole answers",
        measures=("questions/s", "p50 ms", "p95 ms", "p99 ms"),
        baselines=(LIMIT,),
    )
    questions = read_questions(plan.questions)
    with running_baseline() as limit:
        for number in range(rounds):
            for variant, url in ((LIMIT, limit), (PLATFORM, plan.url)):
                figures = await _run(plan, url, questions)
                if not figures.answered:
                    raise RuntimeError(f"{variant}: no answers ({figures.errors or f'{figures.refused} refused'})")
                section.add(variant, dict(zip(section.measures, _values(figures), strict=True)))
                say(f"round {number + 1}, http: {variant} {figures.per_second:,.0f}/s{_remarks(figures)}")
    return section


async def _run(plan: HttpLoad, url: str, questions: Sequence[str]) -> LoadFigures:
    requests = bodies(questions, plan.count, distinct=True, pipeline=plan.pipeline)
    return await load(url, requests, in_flight=plan.in_flight, key=plan.key)


def _values(figures: LoadFigures) -> tuple[float, ...]:
    return figures.per_second, figures.p50_ms, figures.p95_ms, figures.p99_ms


def _remarks(figures: LoadFigures) -> str:
    """What a reader must know before believing the figure."""
    remarks = [f"{figures.refused} refused"] if figures.refused else []
    remarks += [f"{figures.reused} reused"] if figures.reused else []
    remarks += [f"{count} x {kind}" for kind, count in figures.errors.items()]
    return f" ({', '.join(remarks)})" if remarks else ""
