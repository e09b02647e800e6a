"""Pages of the record: lists for people, everything for an export."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

from services.persistence.ports import Cursor, Record, Remarks, Sought
from services.persistence.record_queries import told
from shared.contracts.errors import RefusedError
from shared.contracts.requests.persistence import (
    Exchange,
    ExchangeLine,
    ExchangeReply,
    ExchangesFilter,
    ExchangesReply,
    ExchangesRequest,
    ExportReply,
    ExportRequest,
)

#: Characters of an answer in a list.
ANSWER_CHARS = 300
#: A page of an export holds no more exchanges, nor bytes once it has one: the bus takes replies of up to 8 MB.
EXPORTED = 50
EXPORT_BYTES = 3_000_000
_RATINGS = {"": 0, "up": 1, "down": -1}


class Browser:
    """Answers from the record; raises `UnavailableError` when the database is away."""

    def __init__(self, record: Record) -> None:
        self._record = record

    async def exchanges(self, request: ExchangesRequest) -> ExchangesReply:
        """One page of lines.

        Raises:
            RefusedError: `after` is nothing that a page said.
        """
        found = await self._record.page(_sought(request), read_cursor(request.after), request.limit + 1, whole=False)
        page = found[: request.limit]
        balances = await self._record.balances([exchange.id for exchange in page])
        return ExchangesReply(
            exchanges=tuple(_line(exchange, *balances.get(exchange.id, (0, 0))) for exchange in page),
            after=written_cursor(page[-1]) if len(found) > len(page) else "",
        )

    async def export(self, request: ExportRequest) -> ExportReply:
        """One page of whole exchanges with what was said about them.

        Raises:
            RefusedError: `after` is nothing that a page said.
        """
        limit = min(request.limit, EXPORTED)
        found = await self._record.page(_sought(request), read_cursor(request.after), limit + 1, whole=True)
        ids = [exchange.id for exchange in found]
        remarked = {*await self._record.balances(ids), *await self._record.evaluated(ids)}
        replies: list[ExchangeReply] = []
        size = 0
        for exchange in found[:limit]:
            remarks = await self._record.remarks(exchange.id) if exchange.id in remarked else Remarks()
            reply = told(exchange, remarks)
            size += len(reply.model_dump_json().encode())
            if replies and size > EXPORT_BYTES:
                break
            replies.append(reply)
        more = len(found) > len(replies)
        return ExportReply(exchanges=tuple(replies), after=written_cursor(found[len(replies) - 1]) if more else "")


def written_cursor(last: Exchange) -> str:
    """The place after an exchange; opaque to who gets it."""
    return base64.urlsafe_b64encode(f"{last.ended_at.astimezone(UTC).isoformat()} {last.id}".encode()).decode()


def read_cursor(text: str) -> Cursor | None:
    """The place that a page ended with.

    Raises:
        RefusedError: it is none.
    """
    if not text:
        return None
    try:
        ended_at, _, exchange_id = base64.b64decode(text, altchars=b"-_", validate=True).decode("ascii").partition(" ")
        moment = datetime.fromisoformat(ended_at)
        if moment.tzinfo is None:
            raise ValueError("no time zone")
    except (binascii.Error, ValueError):
        raise RefusedError("after: send back what the page before said, or leave it out") from None
    return Cursor(moment, exchange_id)


def _sought(request: ExchangesFilter) -> Sought:
    return Sought(
        pipeline=request.pipeline,
        outcome=request.outcome,
        conversation=request.conversation,
        source=request.source,
        engine=request.engine,
        lane=request.lane,
        rating=_RATINGS[request.rating],
        since=_utc(request.since),
        until=_utc(request.until),
    )


def _utc(moment: datetime | None) -> datetime | None:
    """A time without a zone is taken for UTC."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _line(exchange: Exchange, up: int, down: int) -> ExchangeLine:
    same = exchange.model_dump(include=set(ExchangeLine.model_fields) - {"answer"})
    text = exchange.answer_text
    return ExchangeLine(
        **same,
        answer=text if len(text) <= ANSWER_CHARS else f"{text[: ANSWER_CHARS - 1]}…",
        sources=tuple(dict.fromkeys(citation.source for citation in exchange.citations)),
        feedback_up=up,
        feedback_down=down,
    )
