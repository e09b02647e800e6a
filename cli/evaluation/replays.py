"""`answerbus evaluate replay DIR`: exported questions as fixtures, replayed and compared with what they shall give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cli.operations.replay import Order, Recording, Replayed, Replayer
from shared.contracts.errors import RefusedError
from shared.history.export import ExportedQuestion, read_export
from shared.history.replay_plan import differing, essences

Outcome = Literal["same", "changed", "accepted", "unfinished", "refused"]


@dataclass(frozen=True)
class Checked:
    """What became of one fixture: `changed` names the fields that differ, or why it could not be replayed."""

    file: str
    outcome: Outcome
    replay: str = ""
    changed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.outcome in ("same", "accepted")


def fixtures(folder: Path) -> list[Path]:
    """The exported questions of a folder, by name.

    Raises:
        RefusedError: there is none.
    """
    found = sorted(folder.glob("*.json"))
    if not found:
        raise RefusedError(f"{folder}: no exported questions (*.json); make one with: answerbus events export ID")
    return found


async def check(replayer: Replayer, path: Path, order: Order, *, accept: bool) -> Checked:
    """Replay one fixture; with `accept` the file then expects what it gave.

    Raises:
        UnavailableError: the bus is away.
    """
    try:
        question = _read(path)
        recording = Recording(question.id, question.decoded(), question.document)
        done = await replayer.replay(recording, order)
    except RefusedError as error:
        return Checked(path.name, "refused", changed=(str(error),))
    if not done.ended:
        return Checked(path.name, "unfinished", done.said.correlation_id, ("it had not ended by its deadline",))
    before, expected = _expected(question, done)
    found = essences(done.events)
    changed = tuple(differing(expected, found))
    if changed and accept:
        accepted = question.model_copy(update={"accepted": (*before, *found)})
        _write(path, accepted)
        return Checked(path.name, "accepted", done.said.correlation_id, changed)
    return Checked(path.name, "changed" if changed else "same", done.said.correlation_id, changed)


def _read(path: Path) -> ExportedQuestion:
    try:
        return read_export(path.read_bytes(), path.name)
    except OSError as error:
        raise RefusedError(f"{path.name}: {error.strerror}") from None


def _write(path: Path, question: ExportedQuestion) -> None:
    path.write_text(question.encode(), "utf-8")


def _expected(question: ExportedQuestion, done: Replayed) -> tuple[Sequence[Any], Sequence[Mapping[str, Any]]]:
    """What the file expects before the fact that the replay began with, and from it on."""
    wanted = list(question.accepted or essences(done.recording.events))
    first = (done.said.fact, done.said.attempt)
    places = [number for number, one in enumerate(wanted) if (one["fact"], one["attempt"]) == first]
    start = places[0] if places else 0
    return wanted[:start], wanted[start:]
