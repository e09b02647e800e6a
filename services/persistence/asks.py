"""What other services ask of the record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from services.persistence.figures import by_stage, percentiles
from services.persistence.ports import Record
from shared.asks.persistence import (
    ConversationReply,
    ConversationRequest,
    ExchangeReply,
    ExchangeRequest,
    ExchangeSummary,
    StatsReply,
    StatsRequest,
)
from shared.domain import AnswerEvaluation

#: Exchanges the percentiles are taken from: enough for a steady p99, few enough to read at once.
SAMPLES = 2000


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
        remarks = await self._record.remarks(request.id)
        inline = exchange.details.get("evaluation")
        evaluation = remarks.evaluation or (AnswerEvaluation.model_validate(inline) if inline else None)
        return ExchangeReply(found=True, exchange=exchange, feedback=remarks.feedback, evaluation=evaluation)

    async def stats(self, request: StatsRequest) -> StatsReply:
        tally = await self._record.tally(datetime.now(UTC) - timedelta(hours=request.hours), SAMPLES)
        return StatsReply(
            hours=request.hours,
            total=sum(tally.outcomes.values()),
            outcomes=tally.outcomes,
            sampled=len(tally.samples),
            elapsed=percentiles(sample.elapsed_ms for sample in tally.samples),
            stages=by_stage(tally.samples),
            feedback_up=tally.feedback_up,
            feedback_down=tally.feedback_down,
            documents=tally.documents,
        )
