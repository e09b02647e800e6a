"""Raises a permissions violation where the refused subject was published, instead of letting that call time out.

The server replies nothing to a publish that it refuses; it reports the subject as an asynchronous error of the
connection. `PermissionErrors` joins that report with the call that waits for a reply (`raised_for`, in a worker) or
with everything that is done on the connection (`raised_for_any`, in a command).
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from shared.contracts.errors import NotPermittedError
from shared.observability import telemetry

log = structlog.get_logger()

#: How many refused subjects are remembered.
REMEMBERED = 256
_VIOLATION = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]+)\"", re.IGNORECASE)
ADVICE = "to permit it, run: answerbus bus credentials, and reload the server"


class PermissionErrors:
    """The permissions violations of one connection; `user` is the user that it is logged in as."""

    def __init__(self, user: str, *, advice: str = ADVICE, logged: bool = True) -> None:
        """`advice` ends the text of every error; without `logged`, violations are only raised."""
        self.user = user or "this user"
        self._advice = advice
        self._logged = logged
        self._any: asyncio.Task[object] | None = None
        self._first: NotPermittedError | None = None
        self._waiting: dict[str, asyncio.Task[object]] = {}
        #: What may not be done with each of them.
        self._refused: OrderedDict[str, str] = OrderedDict()

    def observe(self, error: Exception) -> bool:
        """Whether the connection's error is a permissions violation; if so, ends the call that waits for it."""
        found = _VIOLATION.search(str(error))
        if not found:
            return False
        what, subject = found[1].lower(), found[2].lower()  # nats-py passes errors on in lower case
        telemetry.NOT_PERMITTED.labels(what).inc()
        if self._logged:
            log.error(
                "NATS refused a subject: permission denied",
                user=self.user,
                what=what,
                subject=_shown(subject),
                advice=self._advice,
            )
        self._refused[subject] = "subscribe to" if what == "subscription" else "publish"
        while len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)
        if task := self._waiting.get(subject):
            task.cancel()
        elif self._any and self._first is None:
            self._first = self.error_for(subject, self._refused[subject])
            self._any.cancel()
        return True

    @contextmanager
    def raised_for(self, subject: str) -> Iterator[None]:
        """Publish and wait for the reply inside this context, or subscribe and flush.

        Raises:
            NotPermittedError: the server refused the subject.
        """
        subject, task = subject.lower(), asyncio.current_task()
        if task is None or subject in self._waiting:  # the same subject twice at once: only the first call is ended
            yield
            return
        cancelled = task.cancelling()
        self._refused.pop(subject, None)
        self._waiting[subject] = task
        try:
            yield
        except asyncio.CancelledError:
            # As asyncio.timeout does: tell our own cancellation from one that came from outside.
            if subject in self._refused and task.uncancel() <= cancelled:
                raise self.error_for(subject, self._refused[subject]) from None
            raise
        else:
            # What was waited for came with the violation: `asyncio.wait_for` then drops the cancellation.
            if subject in self._refused and task.uncancel() <= cancelled:
                raise self.error_for(subject, self._refused[subject])
        finally:
            del self._waiting[subject]

    @contextmanager
    def raised_for_any(self) -> Iterator[None]:
        """Use the connection inside this context; the first violation ends the block.

        Raises:
            NotPermittedError: the server refused a subject.
        """
        task = asyncio.current_task()
        if task is None:
            yield
            return
        cancelled = task.cancelling()
        self._any = task
        try:
            yield
        except (asyncio.CancelledError, Exception) as error:
            if self._first is None:
                raise
            if task.cancelling() > cancelled and task.uncancel() > cancelled:  # also cancelled from outside
                raise
            raise self._first from (None if isinstance(error, asyncio.CancelledError) else error)
        finally:
            self._any = None

    def error_for(self, subject: str, what: str = "publish") -> NotPermittedError:
        """The error to raise for a refused subject."""
        return NotPermittedError(f"{self.user} is not permitted to {what} {_shown(subject)}; {self._advice}")


def _shown(subject: str) -> str:
    """The subject for messages: of an event without the question's id, otherwise cut to fit a line."""
    return ".".join(subject.split(".")[:3]) if subject.startswith(("qa.", "bg.", "dead.")) else subject[:120]
