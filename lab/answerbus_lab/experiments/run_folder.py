"""The folder of a shadow run: how far it is, and the report of everything that is kept there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from answerbus_lab.experiments.guards import Halt
from answerbus_lab.experiments.judge import read_judgements
from answerbus_lab.experiments.report import ExperimentReport
from answerbus_lab.experiments.shadow import ShadowRun, read_pairs
from shared.contracts.domain import Value
from shared.contracts.errors import RefusedError

RUN = "run.json"


class RunState(Value):
    """A shadow run; `live` and `candidate` are the pipelines' labels.

    `ended` says why it ended, empty: it has not; `harmful` if a guard halted it.
    """

    live: str = ""
    candidate: str = ""
    started_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    ended: str = ""
    harmful: bool = False


def read_run(folder: Path) -> RunState:
    """The state of the run in this folder; a new one, if the folder is empty.

    Raises:
        RefusedError: it cannot be read.
    """
    path = folder / RUN
    try:
        if path.exists():
            return RunState.model_validate_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        raise RefusedError(f"{path}: cannot be read; remove it") from None
    state = RunState()
    _keep(folder, state)
    return state


def begin(run: ShadowRun) -> None:
    """Keep that the run has begun, or continues, after everything in its folder was read.

    Raises:
        RefusedError: something there cannot be read.
    """
    known = {"live": run.pipeline, "candidate": run.candidate, "ended": "", "harmful": False}
    _keep(run.folder, read_run(run.folder).model_copy(update=known))
    report_of(run.name, run.folder)


def finish(run: ShadowRun, halt: Halt | None) -> ExperimentReport:
    """Keep why the run has ended (None: it was interrupted), and write its report."""
    if halt:
        ended = {"ended": halt.reason, "harmful": halt.harmful}
        _keep(run.folder, read_run(run.folder).model_copy(update=ended))
    return written(run.name, run.folder)


def report_of(name: str, folder: Path) -> ExperimentReport:
    """The report of the pairs, and of what a judge has said of them.

    Raises:
        RefusedError: something in the folder cannot be read.
    """
    state, pairs = read_run(folder), read_pairs(folder)
    return ExperimentReport(
        name,
        ", ".join(dict.fromkeys(pair.live.pipeline for pair in pairs)) or state.live,
        pairs[0].shadow.pipeline if pairs else state.candidate,
        pairs,
        Halt(state.ended, state.harmful) if state.ended else None,
        read_judgements(folder),
    )


def written(name: str, folder: Path) -> ExperimentReport:
    """The report of a folder, after it was written there.

    Raises:
        RefusedError: something in the folder cannot be read.
    """
    report = report_of(name, folder)
    report.write(folder)
    return report


def _keep(folder: Path, state: RunState) -> None:
    """Write the state so that another process reads the old one or the new one."""
    new = folder / f"{RUN}.new"
    try:
        new.write_text(state.model_dump_json(indent=2) + "\n", "utf-8")
        new.replace(folder / RUN)
    except OSError as error:
        raise RefusedError(f"{folder / RUN}: {error.strerror}") from None
