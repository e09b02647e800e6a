"""Signals: live and forgettable, on core NATS. Nothing is lost when one is; the facts say it all again."""

from __future__ import annotations

from typing import ClassVar

from shared.contracts.domain import Value


class Signal(Value):
    kind: ClassVar[str] = ""


class Token(Signal):
    """A piece of a draft as it is written: `offset` counts characters of the draft before it.

    `draft` grows with each new beginning within an attempt: another endpoint took over, or another worker.
    """

    kind = "token"

    attempt: int
    draft: int = 0
    offset: int
    text: str


class Progress(Signal):
    """A stage that is at work on something long says how far it is."""

    kind = "progress"

    stage: str
    message: str
