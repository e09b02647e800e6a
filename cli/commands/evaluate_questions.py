"""`answerbus evaluate questions`: a file of questions against one pipeline, or against two."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cli.client import Client
    from cli.evaluation.batch_run import Batch
    from cli.evaluation.batch_store import Side
    from cli.evaluation.questions_file import Item
    from cli.evaluation.report import Report

#: Chains asked first, on each side, to know what the rest will cost.
SAMPLE = 3


def questions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or JSON lines with a column question.")],
    pipeline: Annotated[str, typer.Option(help="The pipeline; default: default.")] = "default",
    against: Annotated[str, typer.Option(help="A second pipeline to compare it with.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of answers and report; a run that was stopped goes on from it.")
    ] = None,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="Questions asked side by side.")] = 4,
    limit: Annotated[int, typer.Option(min=0, help="Only the first questions; 0: all.")] = 0,
    max_cost: Annotated[float, typer.Option(min=0, help="Stop before the run costs more US dollars; 0: no limit.")] = 0,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Ask a few, say what the rest would cost, stop.")
    ] = False,
    judge: Annotated[bool, typer.Option(help="Let the judge compare with expected answers, where one is set.")] = True,
    url: Annotated[str, typer.Option("--url", help="The gateway [env: ANSWERBUS_URL].", show_default=False)] = "",
    data: Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")] = Path("data"),
    in_process: Annotated[bool, typer.Option("--in-process", help="Run the platform inside this command.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Ask the questions of a file on the background lane and report how good the answers are.

    Columns: question, and where known expected_answer, expected_sources, language, conversation. Ctrl-C keeps what is
    done; the same command goes on. The key of a gateway that has keys must be an operator's.
    """
    from cli.evaluation.questions_file import read_items
    from cli.host.target import client
    from cli.output import run

    folder = out or Path("evaluation") / file.stem

    async def work() -> Report:
        items = read_items(file)[: limit or None]
        async with client(url, data, in_process=in_process, quiet=as_json) as here:
            run_of = FileRun(here, items, file, folder, judge=judge)
            return await run_of.do([pipeline, *([against] if against else [])], at_once, max_cost, only_sample=estimate)

    _show(run(work), folder, as_json=as_json)


class FileRun:
    """The questions of one file, asked, evaluated and reported in `folder`."""

    def __init__(self, here: Client, items: list[Item], file: Path, folder: Path, *, judge: bool) -> None:
        self._here, self._items, self._file, self._folder, self._judge = here, items, file, folder, judge

    async def do(self, names: list[str], at_once: int, max_cost: float, *, only_sample: bool) -> Report:
        """Ask, wait for evaluations, compare with what was expected, write the report.

        Raises:
            RefusedError: an unknown pipeline, another run in the folder, or a budget that does not suffice.
        """
        from cli.evaluation.batch_run import Batch
        from cli.evaluation.batch_store import Store
        from cli.evaluation.questions_file import chains
        from cli.evaluation.report import Report

        sides = await self._sides(names)
        store = Store.open(self._folder, self._file, sides)
        batch = Batch(self._here, store, sides, at_once, max_cost)
        work = batch.left(chains(self._items))
        report = Report(
            self._file.name, self._items, [side.label for side in sides], [store.of(side) for side in sides]
        )
        try:
            await self._ask(batch, work, only_sample=only_sample)
            if not only_sample:
                await self._afterwards(batch)
        except asyncio.CancelledError:
            _say(f"stopped after {len(store.rows)} answers; the same command goes on from {self._folder}")
            raise
        finally:
            report = Report(report.file, report.items, report.labels, [store.of(side) for side in sides])
            _write(report, self._folder)
        return report

    async def _sides(self, names: list[str]) -> list[Side]:
        from cli.evaluation.batch_store import Side
        from shared.contracts.errors import RefusedError

        if len(set(names)) < len(names):
            raise RefusedError(f"--against: {names[0]} is the pipeline itself; name another one")
        known = {one["name"]: one["revision"] for one in await self._here.call("GET", "/api/v1/pipelines")}
        for name in names:
            if name not in known:
                raise RefusedError(f"no pipeline is called {name}; there are: {', '.join(sorted(known))}")
        return [Side(name, known[name]) for name in names]

    async def _ask(self, batch: Batch, work: list[tuple[Side, list[Item]]], *, only_sample: bool) -> None:
        """A few first; when models cost something, what the rest will cost is said before it is asked."""
        first, rest = work[: SAMPLE * len(batch.sides)], work[SAMPLE * len(batch.sides) :]
        total, asked = len(batch.sides) * len(self._items), sum(len(chain) for _, chain in rest)
        with _progress("questions", total, len(batch.store.rows)) as told:
            await batch.ask(first, told)
        if any(row.get("tokens") for row in batch.store.rows.values()):
            if first:  # what the judge costs is part of it
                await self._evaluations(batch)
                await self._agreements(batch)
            self._estimate(batch, asked)
        elif only_sample:
            _say(f"{asked} more questions will cost nothing: no model was asked for those before")
        if not only_sample and rest:
            with _progress("questions", total, len(batch.store.rows)) as told:
                await batch.ask(rest, told)

    def _estimate(self, batch: Batch, asked: int) -> None:
        """Say what the questions still to ask will cost.

        Raises:
            BudgetError: it is more than the run may cost.
        """
        from cli.evaluation.batch_run import BudgetError, row_cost

        rows = list(batch.store.rows.values())
        tokens = asked * sum(row.get("tokens", 0) for row in rows) / len(rows)
        cost = asked * sum(map(row_cost, rows)) / len(rows)
        _say(f"{asked} more questions will take about {tokens:,.0f} tokens and {cost:.4f} USD (from {len(rows)} asked)")
        if batch.max_cost and batch.spent + cost > batch.max_cost:
            raise BudgetError(
                f"about {batch.spent + cost:.4f} USD are needed and {batch.max_cost:.4f} allowed; raise --max-cost or "
                f"take fewer questions with --limit"
            )

    async def _afterwards(self, batch: Batch) -> None:
        """The evaluations the platform makes, and what the judge here says of the expected answers."""
        revisions = {side.name: side.revision for side in batch.sides}
        found = [(row.get("revision"), revisions[row["pipeline"]]) for row in batch.store.rows.values()]
        if others := sum(given not in (None, wanted) for given, wanted in found):
            _say(f"{others} answers are of another revision: a pipeline was changed while the run asked it")
        if missing := await self._evaluations(batch):
            _say(f"{missing} answers were not evaluated: is verifier.evaluation off in the pipeline?")
        await self._agreements(batch)

    async def _evaluations(self, batch: Batch) -> int:
        rows = [row for row in batch.store.rows.values() if row.get("sentences")]
        with _progress("evaluations", len(rows), sum("evaluation" in row for row in rows)) as told:
            return await batch.evaluations(told)

    async def _agreements(self, batch: Batch) -> None:
        """Let the judge compare, where one is configured here."""
        from cli.evaluation.answer_judge import compare_all
        from shared.llm.fallback import FallbackModels
        from shared.runtime.settings import Settings

        todo = [
            (side, item)
            for side in batch.sides
            for item in self._items
            if item.expected_answer and "agreement" not in (batch.store.get(side, item.line) or {"agreement": 0})
        ]
        if not (self._judge and todo):
            return
        models = FallbackModels.from_settings(Settings().model_endpoints)
        try:
            if models.has("judge"):
                with _progress("comparisons", len(todo), 0) as told:
                    await compare_all(models, batch, todo, told)
        finally:
            await models.close()


def _write(report: Report, folder: Path) -> None:
    (folder / "report.html").write_text(report.as_html(), "utf-8")
    told = json.dumps(report.as_json(), ensure_ascii=False, indent=2)
    (folder / "report.json").write_text(told + "\n", "utf-8")


def _show(report: Report, folder: Path, *, as_json: bool) -> None:
    from cli.output import print_json, table

    told = report.as_json()
    if as_json:
        print_json({**told, "report": str(folder / "report.html")})
        return
    other = told.get("against")
    sides = [told["metrics"], *([other["metrics"]] if other else [])]
    names = dict.fromkeys(name for side in sides for name in side)
    table(report.file, ["measure", *report.labels], [[name, *(side.get(name) for side in sides)] for name in names])
    if other:
        keys = ("difference", "low", "high", "p", "wins", "losses", "ties")
        rows = [[name, *(round(one[key], 4) for key in keys)] for name, one in other["comparison"].items()]
        title = f"{report.labels[0]} less {report.labels[1]}"
        table(title, ["measure", "difference", "95 % from", "to", "p", "wins", "losses", "ties"], rows)
    print(f"report: {folder / 'report.html'}")


def _say(message: str) -> None:
    from shared.text.sanitizer import visible

    print(visible(message), file=sys.stderr)


@contextmanager
def _progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, else a line at every tenth; yields what to call for each one done."""
    if not sys.stderr.isatty():
        yield _lines(what, total, done)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)


def _lines(what: str, total: int, done: int) -> Callable[[], None]:
    step = max(1, total // 10)

    def told() -> None:
        nonlocal done
        done += 1
        if done % step == 0 or done == total:
            _say(f"{what}: {done} of {total}")

    return told
