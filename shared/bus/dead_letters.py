"""Dead letters in their stream: read one by one, as the broker hands out whoever reads them no more than that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.ports import PAGE, DeadLetter, Wanted
from shared.contracts import subjects
from shared.contracts.errors import NotFoundError, UnavailableError


class NatsDeadLetters:
    """`DeadLetters` of the stream `DEAD`; a letter's number is its sequence there."""

    def __init__(self, jetstream: Callable[[], JetStreamContext]) -> None:
        self._jetstream = jetstream

    async def page(self, wanted: Wanted, *, after: int = 0, limit: int = PAGE) -> list[DeadLetter]:
        found: list[DeadLetter] = []
        while len(found) < limit:
            message = await self._message(after + 1, wanted.subject)
            if message is None:
                break
            letter = _letter(message)
            after = letter.number
            if wanted.takes(letter):
                found.append(letter)
        return found

    async def get(self, number: int) -> DeadLetter:
        message = await self._message(number)
        if message is None:
            raise NotFoundError(f"there is no dead letter {number}; answerbus dead list shows which there are")
        return _letter(message)

    async def _message(self, number: int, subject: str = "") -> RawStreamMsg | None:
        """That one, or the first from there on under the subject.

        Raises:
            UnavailableError: the bus is away, or not provisioned.
        """
        wanted = {"subject": subject, "next": True} if subject else {}
        try:
            return await self._jetstream().get_msg(subjects.DEAD_STREAM, seq=number, **wanted)  # type: ignore[arg-type]
        except NatsNotFoundError as error:
            if error.err_code == NO_STREAM:
                raise UnavailableError("the bus is not provisioned; run: answerbus bus provision") from None
            return None
        except (NatsError, APIError, OSError):
            raise UnavailableError("the dead letters could not be read; the bus is away") from None


#: The server's code where the stream itself is missing.
NO_STREAM = 10059


def _letter(message: RawStreamMsg) -> DeadLetter:
    return DeadLetter.read(
        message.seq or 0,
        message.subject or "",
        message.headers or {},
        message.data or b"",
        message.time or datetime.now(UTC),
    )
