"""What other services ask of the record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from services.persistence import statistics
from services.persistence.ports import Record, Remarks
from services.persistence.rollups import Figures, started
from shared.contracts.domain import AnswerEvaluation
from shared.contracts.requests.persistence import (
    ConversationReply,
    ConversationRequest,
    Exchange,
    ExchangeReply,
    ExchangeRequest,
    ExchangeSummary,
    StatsReply,
    StatsRequest,
)


class Archivist:
    """Answers from the record; raises `UnavailableError` when the database is away."""

    def __init__(self, record: Record) -> None:
        self._record = record

    async def conversation(self, request: ConversationRequest) -> ConversationReply:
        exchanges = await self._record.conversation(request.id, request.limit)
        return ConversationReply(
            id=request.id,
            exchanges=tuple(
                ExchangeSummary(
                    id=exchange.id,
                    question=exchange.question,
                    answer=exchange.answer_text,
                    outcome=exchange.outcome,
                    citations=exchange.citations,
                    options=tuple(exchange.details.get("options") or ()),
                    lane=exchange.lane,
                    ended_at=exchange.ended_at,
                )
                for exchange in exchanges
            ),
        )

    async def exchange(self, request: ExchangeRequest) -> ExchangeReply:
        exchange = await self._record.exchange(request.id)
        if exchange is None:
            return ExchangeReply(found=False)
        return told(exchange, await self._record.remarks(request.id))

    async def stats(self, request: StatsRequest) -> StatsReply:
        since = started("hour", datetime.now(UTC) - timedelta(hours=request.hours))
        tally = await self._record.tally(since)
        total = Figures()
        for one in tally.figures.values():
            total.add(one)
        whole = statistics.of_pipeline("", total)
        return StatsReply(
            hours=request.hours,
            since=since,
            **whole.model_dump(exclude={"pipeline", "cost_usd"}),
            stages=statistics.stages(total),
            models=statistics.spent(tally.figures),
            pipelines=tuple(statistics.of_pipeline(name, one) for name, one in sorted(tally.figures.items())),
            documents=tally.documents,
        )


def told(exchange: Exchange, remarks: Remarks) -> ExchangeReply:
    """The exchange with what was said about it; an evaluation that came with the answer where there is no later one."""
    inline = exchange.details.get("evaluation")
    evaluation = remarks.evaluation or (AnswerEvaluation.model_validate(inline) if inline else None)
    return ExchangeReply(found=True, exchange=exchange, feedback=remarks.feedback, evaluation=evaluation)
