"""What a model call knows of the work it is made for: set around a handler, read by the model layer.

Calls are noted here and leave in the envelope of the fact that the handler returns, so no handler carries them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

from shared.contracts.domain import ModelCall


@dataclass
class Ledger:
    """One piece of work: its stage, when its question must be answered (None: no hurry), its calls so far."""

    stage: str
    deadline: datetime | None = None
    calls: list[ModelCall] = field(default_factory=list)


_AT_WORK: ContextVar[Ledger | None] = ContextVar("answerbus_ledger", default=None)


@contextmanager
def at_work(stage: str, deadline: datetime | None = None) -> Iterator[Ledger]:
    """Model calls made within, also by tasks begun within, are noted in the ledger this yields."""
    ledger = Ledger(stage, deadline)
    token = _AT_WORK.set(ledger)
    try:
        yield ledger
    finally:
        _AT_WORK.reset(token)


def ledger() -> Ledger | None:
    """The ledger of the work at hand, if any."""
    return _AT_WORK.get()


def note(call: ModelCall) -> None:
    """Put a call into the ledger of the work at hand; nothing where there is none."""
    here = _AT_WORK.get()
    if here is not None:
        here.calls.append(call)


def calls() -> tuple[ModelCall, ...]:
    """The calls of the work at hand."""
    here = _AT_WORK.get()
    return tuple(here.calls) if here is not None else ()
