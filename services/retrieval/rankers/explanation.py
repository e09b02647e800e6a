"""What a judgement did, for whoever asks why a passage stands where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shared.contracts.domain import Passage


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was changed: a passage by its id, or (with no id) something about the question.

    `before` and `after` are scores where scores changed, else ranks from 1 where only the order did; None where the
    passage was not, or is not any more, among the others.
    """

    what: str
    passage: str = ""
    before: float | None = None
    after: float | None = None

    def as_dict(self) -> dict[str, Any]:
        told = {"what": self.what, "passage": self.passage, "before": self.before, "after": self.after}
        return {name: value for name, value in told.items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The judgement's name and what it changed; no changes: it let everything be."""

    judgement: str
    changes: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def as_dict(self) -> dict[str, Any]:
        return {"judgement": self.judgement, "changes": [change.as_dict() for change in self.changes]}


def moves(before: Sequence[Passage], after: Sequence[Passage], why: str) -> tuple[Change, ...]:
    """A change for each passage that stands at another rank than before."""
    ranks = {passage.id: rank for rank, passage in enumerate(before, start=1)}
    return tuple(
        Change(why, passage.id, ranks[passage.id], rank)
        for rank, passage in enumerate(after, start=1)
        if ranks[passage.id] != rank
    )
