"""Write an answer from the passages, and let the asker read along."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from services.answer.ports import AskedBack, Draft, Engine
from services.answer.settings import AnswerSettings
from services.answer.token_stream import Stream
from shared.contracts.envelope import Envelope
from shared.contracts.errors import ModelError
from shared.contracts.facts import AnswerDrafted, ClarificationRequested, PassagesRetrieved
from shared.llm.ports import Models
from shared.stores.ports import SignalPublisher
from shared.text.fingerprints import marks

log = structlog.get_logger()

#: The engine that needs no model, and takes over where one is away.
QUOTES = "extractive"


class Answerer:
    """Has the pipeline's engine write the draft; when its model fails, the sentences of the passages are quoted."""

    def __init__(self, engines: Mapping[str, Engine], signals: SignalPublisher, models: Models) -> None:
        self._engines = engines
        self._signals = signals
        self._models = models

    async def answer(
        self, retrieved: PassagesRetrieved, envelope: Envelope, settings: AnswerSettings
    ) -> AnswerDrafted | ClarificationRequested:
        """The draft with everything its verifier needs, or a question back."""
        stream = Stream(self._signals, envelope, silent=settings.stream == "verified")
        try:
            engine, draft, fault = await self._write(retrieved, envelope, settings, stream)
            if isinstance(draft, Draft):
                draft = await stream.agreeing(draft)
            await stream.finish()
        finally:
            await stream.abandon()
        if isinstance(draft, AskedBack):
            return ClarificationRequested(
                question=retrieved.question, clarification=draft.clarification, options=draft.options
            )
        return _drafted(retrieved, draft, engine, settings, fault)

    async def _write(
        self, retrieved: PassagesRetrieved, envelope: Envelope, settings: AnswerSettings, stream: Stream
    ) -> tuple[str, Draft | AskedBack, str]:
        """The engine that wrote, what it wrote, and why it is not the one that was asked for."""
        engine, fault = self._engine(settings), ""
        if engine != QUOTES:
            try:
                async with asyncio.timeout(_patience(envelope, settings)):
                    return engine, await self._engines[engine].draft(retrieved, settings, stream, envelope), ""
            except (ModelError, TimeoutError) as error:
                fault = str(error) or "no answer in the time left"
                log.warning("quoting instead of the model", engine=engine, reason=fault)
                await stream.restart()
        return QUOTES, await self._engines[QUOTES].draft(retrieved, settings, stream, envelope), fault

    def _engine(self, settings: AnswerSettings) -> str:
        if settings.engine == "auto":
            return "chat" if self._models.has("main") else QUOTES
        return settings.engine


def _patience(envelope: Envelope, settings: AnswerSettings) -> float:
    """Seconds the model has, so that there is time to quote and verify when it takes longer."""
    return max(0.0, envelope.remaining - min(settings.reserve_seconds, envelope.remaining / 4))


def _drafted(
    retrieved: PassagesRetrieved, draft: Draft, engine: str, settings: AnswerSettings, fault: str
) -> AnswerDrafted:
    context = retrieved.context
    if fault:
        told = {"asked": settings.engine, "wrote": engine, "because": fault}
        context = context.model_copy(update={"trace": {**context.trace, "answer": told}})
    return AnswerDrafted(
        question=retrieved.question,
        answer=draft.answer,
        citations=draft.citations,
        passages=retrieved.passages if draft.passages is None else draft.passages,
        context=context,
        confidence=draft.confidence,
        engine=engine,
        tool_calls=draft.tool_calls,
        usage=draft.usage,
        streamed=settings.stream == "draft",
        followups=draft.followups,
        earlier=retrieved.earlier,
        prompt_marks=marks(*draft.prompts) if draft.prompts else "",
    )
