"""`answerbus evaluate replay DIR`: replays exported questions and compares them with the expected events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shared.contracts.errors import RefusedError
from shared.history.export import ExportedQuestion, read_export
from shared.history.replay_plan import differing, essences
from shared.operations.replay import Recording, Replayed, Replayer, ReplayOptions

Outcome = Literal["same", "changed", "accepted", "unfinished", "refused"]


@dataclass(frozen=True)
class FixtureResult:
    """The result of one fixture; `changed` has the fields that differ, or why it could not be replayed."""

    file: str
    outcome: Outcome
    replay: str = ""
    changed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.outcome in ("same", "accepted")


def fixtures(folder: Path) -> list[Path]:
    """The exported questions of a folder, ordered by name.

    Raises:
        RefusedError: there are none.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise RefusedError(f"{folder}: no exported questions (*.json); make one with: answerbus events export ID")
    return paths


async def check(replayer: Replayer, path: Path, options: ReplayOptions, *, accept: bool) -> FixtureResult:
    """Replay one fixture; with `accept` its events become the expected ones in the file.

    Raises:
        UnavailableError: NATS is unavailable.
    """
    try:
        question = _read(path)
        recording = Recording(question.id, question.decoded(), question.document)
        replayed = await replayer.replay(recording, options)
    except RefusedError as error:
        return FixtureResult(path.name, "refused", changed=(str(error),))
    if not replayed.ended:
        return FixtureResult(path.name, "unfinished", replayed.event.correlation_id, ("no outcome by its deadline",))
    before, expected = _expected(question, replayed)
    actual = essences(replayed.events)
    changed = tuple(differing(expected, actual))
    if changed and accept:
        accepted = question.model_copy(update={"accepted": (*before, *actual)})
        _write(path, accepted)
        return FixtureResult(path.name, "accepted", replayed.event.correlation_id, changed)
    return FixtureResult(path.name, "changed" if changed else "same", replayed.event.correlation_id, changed)


def _read(path: Path) -> ExportedQuestion:
    try:
        return read_export(path.read_bytes(), path.name)
    except OSError as error:
        raise RefusedError(f"{path.name}: {error.strerror}") from None


def _write(path: Path, question: ExportedQuestion) -> None:
    path.write_text(question.encode(), "utf-8")


def _expected(question: ExportedQuestion, replayed: Replayed) -> tuple[Sequence[Any], Sequence[Mapping[str, Any]]]:
    """What the file expects: the facts before the one that the replay started with, and those from it on."""
    expected = list(question.accepted or essences(replayed.recording.events))
    first = (replayed.event.fact, replayed.event.attempt)
    places = [number for number, event in enumerate(expected) if (event["fact"], event["attempt"]) == first]
    start = places[0] if places else 0
    return expected[:start], expected[start:]
