"""What the bus does not permit: told at once and by name, where a client alone would wait for a reply in vain.

The server refuses a publish beside the protocol's request and reply: nothing answers, and a line on the connection
names the subject. This joins the two.
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

#: Refused subjects that are remembered, for who is told by them.
REMEMBERED = 256
_VIOLATION = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]+)\"", re.IGNORECASE)
ADVICE = "if it should be: answerbus bus credentials, then reload the server"


class PermissionErrors:
    """The refusals of one connection; `user` is who it is logged in as."""

    def __init__(self, user: str) -> None:
        self.user = user or "this user"
        self._waiting: dict[str, asyncio.Task[object]] = {}
        self._refused: OrderedDict[str, None] = OrderedDict()

    def heard(self, error: Exception) -> bool:
        """Whether the error of the connection is a refusal; whoever waits for that publish is told."""
        found = _VIOLATION.search(str(error))
        if not found:
            return False
        what, subject = found[1].lower(), found[2].lower()  # nats-py hands errors on in lower case
        telemetry.NOT_PERMITTED.labels(what).inc()
        log.error("the bus does not permit it", user=self.user, what=what, subject=_shown(subject), advice=ADVICE)
        self._refused[subject] = None
        while len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)
        if task := self._waiting.get(subject):
            task.cancel()
        return True

    @contextmanager
    def told(self, subject: str) -> Iterator[None]:
        """Publish and wait within; a refusal of that subject ends the wait.

        Raises:
            NotPermittedError: the bus refuses what was published within.
        """
        subject, task = subject.lower(), asyncio.current_task()
        if task is None or subject in self._waiting:  # the same event twice at once: one of them is told
            yield
            return
        cancelled = task.cancelling()
        self._refused.pop(subject, None)
        self._waiting[subject] = task
        try:
            yield
        except asyncio.CancelledError:
            # As asyncio.timeout does: a cancellation that came from here is not one from outside.
            if subject in self._refused and task.uncancel() <= cancelled:
                raise self.error(subject) from None
            raise
        finally:
            del self._waiting[subject]

    def error(self, subject: str) -> NotPermittedError:
        """The sentence for it."""
        return NotPermittedError(f"{self.user} is not permitted to publish {_shown(subject)}; {ADVICE}")


def _shown(subject: str) -> str:
    """Of an event what it is, not whose; of anything else all that fits a line."""
    return ".".join(subject.split(".")[:3]) if subject.startswith(("qa.", "bg.", "dead.")) else subject[:120]
