"""Write an answer from the passages, and let the asker read along."""

from __future__ import annotations

from collections.abc import Mapping

from services.answer.ports import Engine, Speak
from services.answer.settings import AnswerSettings
from shared.envelope import Envelope
from shared.facts import AnswerDrafted, PassagesRetrieved
from shared.signals import Token
from shared.stores.ports import Speaker


class Answerer:
    """Has the pipeline's engine write the draft."""

    def __init__(self, engines: Mapping[str, Engine], speaker: Speaker) -> None:
        self._engines = engines
        self._speaker = speaker

    async def answer(self, retrieved: PassagesRetrieved, envelope: Envelope, settings: AnswerSettings) -> AnswerDrafted:
        """The draft with everything its verifier needs."""
        draft = await self._engines[settings.engine].draft(retrieved, settings, self._read_along(envelope))
        return AnswerDrafted(
            question=retrieved.question,
            answer=draft.answer,
            citations=draft.citations,
            passages=retrieved.passages,
            context=retrieved.context,
            confidence=draft.confidence,
            engine=settings.engine,
            tool_calls=draft.tool_calls,
            usage=draft.usage,
            earlier=retrieved.earlier,
        )

    def _read_along(self, envelope: Envelope) -> Speak:
        """Speaks each piece under its offset, in characters of this attempt's content."""
        offset = 0

        async def speak(text: str) -> None:
            nonlocal offset
            token = Token(attempt=envelope.attempt, offset=offset, text=text)
            offset += len(text)
            await self._speaker.speak(envelope.correlation_id, token)

        return speak
