"""A question that was answered before in other words: recognised, checked once more, and answered at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from services.retrieval.ports import VectorIndex
from services.retrieval.rankers.explanation import Explanation, StepChange
from services.retrieval.semantic_cache.decision import Verdict, decide
from services.retrieval.semantic_cache.prompts import RULES
from services.retrieval.semantic_cache.question_store import AskedQuestions, of_sources, scope_of
from services.retrieval.semantic_cache.settings import SimilarSettings
from shared.contracts.domain import Lane, PipelineRef, Question
from shared.contracts.envelope import Envelope
from shared.contracts.errors import AnswerbusError, ModelError, TransientError, UnavailableError
from shared.contracts.facts import AnswerReused, ExchangeRecorded, FeedbackGiven
from shared.contracts.requests.persistence import Exchange, ExchangeReply, ExchangeRequest
from shared.contracts.requests.request import RequestClient
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block
from shared.llm.prompts import assemble
from shared.observability import telemetry
from shared.text.languages import UNKNOWN

NAME = "similar"
#: Seconds the record and the store may take; a question that is answered anew costs more, but not for ever.
SECONDS = 2.0
_QUESTION = 2000


class Same(BaseModel):
    """The reply of the model."""

    same: bool
    reason: str = Field(default="", max_length=500)


@dataclass(frozen=True)
class Looked:
    """What came of looking: `reused` where an answer serves, and why or why not."""

    reused: AnswerReused | None = None
    why: str = ""
    explained: Explanation = field(default_factory=lambda: Explanation(NAME))
    took_ms: float = 0.0

    @property
    def explained_anyway(self) -> Explanation:
        """What was decided, also where there was nothing to decide between."""
        return self.explained if self.explained or not self.why else Explanation(NAME, (StepChange(self.why),))


class SimilarAnswers:
    """Finds answers that serve again; `index` is that of the documents, which they must still stand in."""

    def __init__(self, asked: AskedQuestions, index: VectorIndex, asker: RequestClient, models: Models) -> None:
        self._asked = asked
        self._index = index
        self._requests = asker
        self._models = models

    async def look(
        self,
        question: Question,
        settings: SimilarSettings,
        *,
        tenant: str,
        pipeline: PipelineRef,
        lane: Lane = Lane.LIVE,
        introduction: str = "",
    ) -> Looked:
        """The answer to a question that asks the same, and why or why not; trouble is no answer, never an error.

        Only for a live question that opens its conversation: later ones are asked with something in mind.
        """
        began = time.perf_counter()
        if settings.mode == "off" or lane is not Lane.LIVE:
            return Looked()
        if any(turn.answer for turn in question.turns) or question.language == UNKNOWN:
            return Looked(why="not the first question, or in no language that is known")
        try:
            async with asyncio.timeout(SECONDS + (settings.model_seconds if settings.model else 0.0)):
                looked = await self._look(question, settings, tenant, pipeline, introduction)
        except (AnswerbusError, TimeoutError) as error:
            telemetry.DEGRADED.labels(NAME).inc()
            looked = Looked(why=f"could not look: {type(error).__name__}")
        outcome = "reused" if looked.reused else "refused" if looked.explained else "none"
        telemetry.SIMILAR.labels(outcome).inc()
        return Looked(looked.reused, looked.why, looked.explained, round((time.perf_counter() - began) * 1000, 2))

    async def keep(self, recorded: ExchangeRecorded, envelope: Envelope, settings: SimilarSettings) -> None:
        """Keep the question of an answer that may be given again, while the sources are those it was written from.

        Raises:
            TransientError: the store is away.
        """
        if settings.mode == "off" or recorded.reusable is None or envelope.lane is not Lane.LIVE:
            return
        try:
            version = await of_sources(recorded.reusable.sources, self._index)
            if version:
                await self._asked.keep(recorded.reusable, version, envelope, settings)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def dispute(self, given: FeedbackGiven, envelope: Envelope, settings: SimilarSettings) -> None:
        """Take out the answer that somebody disliked, also where it was given to another question.

        Raises:
            TransientError: the store or the record is away.
        """
        if settings.mode == "off" or given.rating > 0:
            return
        try:
            if await self._asked.forget(envelope.correlation_id):
                return
            reply = await self._record(envelope.correlation_id)
            if reply.exchange is not None and (origin := str(reply.exchange.details.get("origin", ""))):
                await self._asked.forget(origin)
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def forget(self, questions: Sequence[str]) -> bool:
        """Let go of these questions, by their ids; whether there was one of them.

        Raises:
            TransientError: the store is away.
        """
        try:
            return any([await self._asked.forget(origin) for origin in questions])
        except UnavailableError as error:
            raise TransientError(str(error)) from error

    async def _look(
        self, question: Question, settings: SimilarSettings, tenant: str, pipeline: PipelineRef, introduction: str
    ) -> Looked:
        scope = scope_of(tenant, pipeline.name, pipeline.revision, question.language)
        candidates = await self._asked.near(question, scope, settings)
        verdict = decide(question.text, question.language, candidates, settings)
        if verdict.taken is None:
            return _told(verdict)
        if settings.model and (objection := await self._objection(question.text, verdict, settings, introduction)):
            return _told(verdict, objection)
        reply = await self._record(verdict.taken.origin)
        if objection := await self._gone(reply, verdict.taken.origin):
            await self._asked.forget(verdict.taken.origin)
            return _told(verdict, objection)
        assert reply.exchange is not None
        return Looked(_reused(question, reply.exchange, verdict), verdict.why, _explained(verdict))

    async def _objection(self, text: str, verdict: Verdict, settings: SimilarSettings, introduction: str) -> str:
        """Why the model says they are not the same; empty when it says they are."""
        if not self._models.has("fast") or verdict.taken is None:
            return "no model plays fast, which is to have the last word"
        told = f"{block('question', text, limit=_QUESTION)}\n{block('earlier', verdict.taken.text, limit=_QUESTION)}"
        try:
            async with asyncio.timeout(settings.model_seconds):
                system = assemble(settings.prompt, introduction, RULES)
                reply = await self._models.invoke("fast", "same_question", system, told, Same)
        except (ModelError, TimeoutError):
            return "the model did not say whether they ask the same"
        return "" if reply.same else f"the model: {reply.reason or 'not the same'}"

    async def _gone(self, reply: ExchangeReply, origin: str) -> str:
        """Why the answer does not hold any more: disputed, forgotten, or its sources are others than they were."""
        exchange = reply.exchange
        if exchange is None or exchange.answer is None or exchange.outcome != "answered":
            return "its answer is not on record"
        if any(rating.rating < 0 for rating in reply.feedback):
            return "its answer was disliked"
        known = await self._asked.known(origin)
        version = await of_sources([one.source for one in exchange.citations], self._index)
        if known is None or not version or known.version != version:
            return "a source it cites has changed"
        there = {one.id: one.text for one in await self._index.fetch([one.passage for one in exchange.citations])}
        for citation in exchange.citations:
            if citation.quote not in there.get(citation.passage, "") or citation.passage not in there:
                return "a passage it cites is not there any more"
        return ""

    async def _record(self, origin: str) -> ExchangeReply:
        return await self._requests.ask(ExchangeRequest(id=origin), SECONDS)


def _reused(question: Question, exchange: Exchange, verdict: Verdict) -> AnswerReused:
    assert exchange.answer is not None
    return AnswerReused(
        question=question,
        answer=exchange.answer,
        citations=exchange.citations,
        origin=exchange.id,
        similarity=round(verdict.similarity, 4),
        confidence=exchange.confidence,
        followups=exchange.followups,
        engine=exchange.engine,
    )


def _told(verdict: Verdict, objection: str = "") -> Looked:
    why = objection or verdict.why
    return Looked(None, why, _explained(verdict, objection))


def _explained(verdict: Verdict, objection: str = "") -> Explanation:
    changes = tuple(
        StepChange(
            f"{'taken' if verdict.taken and not objection else 'not taken'}: {one.text} ({objection or verdict.why})"
        )
        for one, _ in verdict.told
    )
    return Explanation(NAME, changes)
