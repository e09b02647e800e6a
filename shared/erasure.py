"""Erasing from the log: not only out of reach, but off the disk."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class Erased:
    """How many there were."""

    events: int = 0
    dead_letters: int = 0


class Eraser(Protocol):
    """Overwrites events and dead letters where they are stored. Erasing again what is gone is no error."""

    async def question(self, correlation_id: str) -> Erased:
        """Every event of the question, on either lane, and its dead letters.

        Raises:
            UnavailableError: the bus is away; what was erased before stays so.
        """

    async def raw_text(self, before: datetime) -> Erased:
        """What clients asked before that moment, as they typed it: `QuestionAsked` and its dead letters.

        Raises:
            UnavailableError: the bus is away; what was erased before stays so.
        """
