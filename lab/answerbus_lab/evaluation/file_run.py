"""One run of `answerbus evaluate questions`: ask, wait for evaluations, compare with expected answers, report."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from answerbus_lab.evaluation.answer_judge import compare_all
from answerbus_lab.evaluation.batch_run import BatchRun, BudgetError, row_cost
from answerbus_lab.evaluation.batch_store import BatchStore, EvaluatedPipeline
from answerbus_lab.evaluation.questions_file import QuestionItem, chains
from answerbus_lab.evaluation.report import EvaluationReport
from cli.client import GatewayClient
from shared.contracts.errors import RefusedError
from shared.llm.fallback import FallbackModels
from shared.runtime.settings import Settings
from shared.text.sanitizer import visible

#: Conversations asked first of each pipeline, to estimate what the rest will cost.
SAMPLE = 3


class FileRun:
    """Asks the questions of one file and writes answers and report into `folder`."""

    def __init__(
        self, client: GatewayClient, items: list[QuestionItem], file: Path, folder: Path, *, judge: bool
    ) -> None:
        self._client, self._items, self._file, self._folder, self._judge = client, items, file, folder, judge

    async def run(self, names: list[str], at_once: int, max_cost: float, *, only_sample: bool) -> EvaluationReport:
        """Ask the questions that have no answer yet, collect evaluations, compare, and write the report.

        `names` are one or two pipelines, `max_cost` is in US dollars (0: no limit). With `only_sample` it stops after
        the first conversations and an estimate of the cost of the rest.

        Raises:
            RefusedError: an unknown pipeline, or the folder holds another run.
            BudgetError: the run would cost more than `max_cost`.
        """
        pipelines = await self._pipelines(names)
        store = BatchStore.open(self._folder, self._file, pipelines)
        batch = BatchRun(self._client, store, pipelines, at_once, max_cost)
        try:
            await self._ask(batch, batch.unfinished(chains(self._items)), only_sample=only_sample)
            if not only_sample:
                await self._collect_evaluations(batch)
        except asyncio.CancelledError:
            _print(f"stopped after {len(store.rows)} answers; the same command resumes from {self._folder}")
            raise
        finally:
            report = EvaluationReport(
                self._file.name,
                self._items,
                [pipeline.label for pipeline in pipelines],
                [store.of(pipeline) for pipeline in pipelines],
            )
            _write(report, self._folder)
        return report

    async def _pipelines(self, names: list[str]) -> list[EvaluatedPipeline]:
        if len(set(names)) < len(names):
            raise RefusedError(f"--against {names[0]}: that is the pipeline itself; name another one")
        known = {stored["name"]: stored["revision"] for stored in await self._client.call("GET", "/api/v1/pipelines")}
        for name in names:
            if name not in known:
                raise RefusedError(f"unknown pipeline {name}; stored pipelines: {', '.join(sorted(known))}")
        return [EvaluatedPipeline(name, known[name]) for name in names]

    async def _ask(
        self, batch: BatchRun, work: list[tuple[EvaluatedPipeline, list[QuestionItem]]], *, only_sample: bool
    ) -> None:
        """Ask a sample first; if models cost something, print an estimate before the rest is asked."""
        sample_size = SAMPLE * len(batch.pipelines)
        sample, rest = work[:sample_size], work[sample_size:]
        total, remaining = len(batch.pipelines) * len(self._items), sum(len(chain) for _, chain in rest)
        with progress("questions", total, len(batch.store.rows)) as advance:
            await batch.ask(sample, advance)
        if any(row.get("tokens") for row in batch.store.rows.values()):
            if sample:  # evaluations and comparisons are part of the cost
                await self._evaluations(batch)
                await self._agreements(batch)
            self._estimate(batch, remaining)
        elif only_sample:
            _print(f"{remaining} more questions will cost nothing: no model was called for the first ones")
        if not only_sample and rest:
            with progress("questions", total, len(batch.store.rows)) as advance:
                await batch.ask(rest, advance)

    def _estimate(self, batch: BatchRun, remaining: int) -> None:
        """Print what the remaining questions will cost.

        Raises:
            BudgetError: it is more than the run may cost.
        """
        rows = list(batch.store.rows.values())
        tokens = remaining * sum(row.get("tokens", 0) for row in rows) / len(rows)
        cost = remaining * sum(map(row_cost, rows)) / len(rows)
        _print(
            f"{remaining} more questions will take about {tokens:,.0f} tokens and {cost:.4f} USD "
            f"(from {len(rows)} asked)"
        )
        if batch.max_cost and batch.spent + cost > batch.max_cost:
            raise BudgetError(
                f"about {batch.spent + cost:.4f} USD are needed and {batch.max_cost:.4f} allowed; raise --max-cost or "
                f"ask fewer questions with --limit"
            )

    async def _collect_evaluations(self, batch: BatchRun) -> None:
        """The evaluations that the platform makes, and the comparison with the expected answers."""
        revisions = {pipeline.name: pipeline.revision for pipeline in batch.pipelines}
        pairs = [(row.get("revision"), revisions[row["pipeline"]]) for row in batch.store.rows.values()]
        if others := sum(used not in (None, expected) for used, expected in pairs):
            _print(f"{others} answers are from another revision: a pipeline was changed during the run")
        if missing := await self._evaluations(batch):
            _print(f"{missing} answers were not evaluated: is verifier.evaluation off in the pipeline?")
        await self._agreements(batch)

    async def _evaluations(self, batch: BatchRun) -> int:
        rows = [row for row in batch.store.rows.values() if row.get("sentences")]
        with progress("evaluations", len(rows), sum("evaluation" in row for row in rows)) as advance:
            return await batch.evaluations(advance)

    async def _agreements(self, batch: BatchRun) -> None:
        """Compare with the expected answers, if this process has a model in the role `judge`."""
        todo = [
            (pipeline, item)
            for pipeline in batch.pipelines
            for item in self._items
            if item.expected_answer and "agreement" not in (batch.store.get(pipeline, item.line) or {"agreement": 0})
        ]
        if not (self._judge and todo):
            return
        models = FallbackModels.from_settings(Settings().model_endpoints)
        try:
            if models.has("judge"):
                with progress("comparisons", len(todo), 0) as advance:
                    await compare_all(models, batch, todo, advance)
        finally:
            await models.close()


def _write(report: EvaluationReport, folder: Path) -> None:
    (folder / "report.html").write_text(report.as_html(), "utf-8")
    document = json.dumps(report.as_json(), ensure_ascii=False, indent=2)
    (folder / "report.json").write_text(document + "\n", "utf-8")


def _print(message: str) -> None:
    print(visible(message), file=sys.stderr)


@contextmanager
def progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, else a line at every tenth; yields the function to call after each item."""
    if not sys.stderr.isatty():
        yield _progress_lines(what, total, done)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)


def _progress_lines(what: str, total: int, done: int) -> Callable[[], None]:
    step = max(1, total // 10)

    def advance() -> None:
        nonlocal done
        done += 1
        if done % step == 0 or done == total:
            _print(f"{what}: {done} of {total}")

    return advance
