"""The engine that has a model write from the passages: one call, streamed, every sentence with its source."""

from __future__ import annotations

from services.answer import prompts
from services.answer.answer_builder import other_language
from services.answer.completion_stream import Writing
from services.answer.engines.completion import Task, finished, may_ask, system_text
from services.answer.ports import AskedBack, Draft, Speech
from services.answer.settings import AnswerSettings
from shared.contracts.domain import Usage
from shared.contracts.envelope import Envelope
from shared.contracts.errors import ModelError
from shared.contracts.facts import PassagesRetrieved
from shared.llm.ports import Message, Models

STEP = "answer"


class Chat:
    """Plays `Engine` with the role `main`."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def draft(
        self, retrieved: PassagesRetrieved, settings: AnswerSettings, speak: Speech, envelope: Envelope
    ) -> Draft | AskedBack:
        """One call; a second one only when the answer came in another language than the asker's."""
        task = Task(retrieved, settings, speak, may_ask(retrieved.question.turns, envelope.attempt, settings))
        user = prompts.asked(retrieved, passage_chars=settings.max_passage_chars)
        messages = [
            Message(author="system", text=system_text(settings.chat_prompt, settings, asking=task.asking)),
            Message(author="user", text=user),
        ]
        spent = Usage()
        for last in (False, True):
            writing = Writing(speak, settings, len(retrieved.passages))
            reply = await self._models.converse("main", STEP, messages, listener=writing)
            spent = spent.plus(reply.usage)
            content, written = await writing.finish(reply.text)
            if not other_language(content, retrieved.question.language):
                break
            await speak.restart()
            if last:
                raise ModelError("the model keeps answering in another language than the asker's")
            again = Message(author="user", text=prompts.wrong_language(retrieved.question))
            messages = [*messages, Message(author="assistant", text=reply.text), again]
        outcome = await finished(content, written, writing, retrieved.passages, task)
        if isinstance(outcome, AskedBack):
            return outcome
        return outcome._replace(usage=spent, prompts=(settings.chat_prompt, settings.project_introduction))
