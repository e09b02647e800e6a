"""The engine that uses tools: orchestrator, tools, orchestrator, until the model writes its answer.

The steps are bounded, and the last one has no tools. What tools bring is data; passages among it are numbered on from
those that were retrieved, so that they can be cited and verified like these. The newest structured result (people,
times, a booked session, things to read) becomes the payload of the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from services.answer import prompts
from services.answer.answer_builder import other_language
from services.answer.completion_stream import Writing
from services.answer.engines.completion import Task, finished, may_ask, system_text
from services.answer.followups import follow_up
from services.answer.ports import AskedBack, Draft, Speech
from services.answer.settings import AnswerSettings
from services.answer.structured_answers import in_words, structured
from services.answer.tool_executor import Made, Toolbox
from services.answer.tools.ports import AgentTool, Scene
from shared.contracts.domain import Passage, Usage
from shared.contracts.envelope import Envelope
from shared.contracts.errors import ModelError
from shared.contracts.facts import PassagesRetrieved
from shared.contracts.payloads import Payload
from shared.llm.ports import Message, Models, Reply
from shared.llm.prompt_blocks import block

STEP = "answer"
#: The share of the time left in which the steps must be done, so that what a tool has done can still be told.
SHARE = 0.9
_FAULT_CHARS = 1000


class Agent:
    """Plays `Engine` with the role `main`, and `fast` for the questions that may follow."""

    def __init__(self, models: Models, tools: Sequence[AgentTool]) -> None:
        self._models = models
        self._tools = tools

    async def draft(
        self, retrieved: PassagesRetrieved, settings: AnswerSettings, speak: Speech, envelope: Envelope
    ) -> Draft | AskedBack:
        run = _Run(self._models, self._tools, retrieved, settings, speak, envelope)
        left = envelope.remaining
        try:
            async with asyncio.timeout(SHARE * (left - min(settings.reserve_seconds, left / 4))):
                outcome = await run.steps()
        except (ModelError, TimeoutError):
            if run.payload is None:
                raise
            # Something was found, or even booked: that is told, whatever became of the model.
            outcome = await run.told_by_rule()
        if isinstance(outcome, AskedBack):
            return outcome
        payload = run.payload
        if payload is not None:
            words = outcome.answer.content
            outcome = outcome._replace(
                followups=await follow_up(self._models, payload, retrieved.question, words, settings)
            )
        return outcome._replace(
            tool_calls=tuple(run.records),
            usage=run.spent,
            prompts=(settings.agent_prompt, settings.project_introduction),
        )


class _Run:
    """One answer in the making."""

    def __init__(
        self,
        models: Models,
        tools: Sequence[AgentTool],
        retrieved: PassagesRetrieved,
        settings: AnswerSettings,
        speak: Speech,
        envelope: Envelope,
    ) -> None:
        self._models = models
        asking = may_ask(retrieved.question.turns, envelope.attempt, settings)
        self._task = Task(retrieved, settings, speak, asking)
        self._box = Toolbox(tools, Scene(retrieved.question, envelope, settings))
        self._passages = list(retrieved.passages)
        self.payload: Payload | None = None
        self.records: list[dict[str, Any]] = []
        self.spent = Usage()
        further = prompts.agent_rules(uncited=settings.uncited)
        system = system_text(settings.agent_prompt, settings, asking=asking, further=further)
        user = prompts.asked(retrieved, passage_chars=settings.max_passage_chars, today=True)
        self._messages = [Message(author="system", text=system), Message(author="user", text=user)]

    async def steps(self) -> Draft | AskedBack:
        """Ask, use tools, ask again.

        Raises:
            ModelError: no model, or none that wrote anything to use.
        """
        settings, speak = self._task.settings, self._task.speak
        for step in range(1, settings.max_steps + 1):
            tools = self._box.offered() if step < settings.max_steps else ()
            writing = Writing(speak, settings, len(self._passages))
            reply = await self._models.converse("main", STEP, self._messages, tools=tools, listener=writing)
            self.spent = self.spent.plus(reply.usage)
            if reply.calls and tools:
                await writing.withdraw()
                await self._use(reply, step)
                continue
            content, written = await writing.finish(reply.text)
            if other_language(content, self._task.retrieved.question.language) and tools:
                await speak.restart()
                self._say(reply, prompts.wrong_language(self._task.retrieved.question))
                continue
            outcome = await finished(content, written, writing, self._passages, self._task)
            return outcome if isinstance(outcome, AskedBack) else self._settled(outcome)
        raise ModelError(f"no answer within {settings.max_steps} steps")

    async def told_by_rule(self) -> Draft:
        """The result of the tools in fixed words."""
        assert self.payload is not None
        speak = self._task.speak
        await speak.restart()
        text = in_words(self.payload, self._task.retrieved.question.language)
        await speak(text)
        return structured(text, self.payload)

    async def _use(self, reply: Reply, step: int) -> None:
        """Make the calls of a reply and tell the model what they brought."""
        self._messages.append(Message(author="assistant", text=reply.text, calls=reply.calls))
        for made in await self._box.make(reply.calls, step):
            self.records.append(made.record)
            self._messages.append(Message(author="tool", text=self._result(made), call_id=made.call.id))
            if made.found.payload is not None:
                self.payload = made.found.payload

    def _result(self, made: Made) -> str:
        if made.fault:
            return block("failed", made.fault, limit=_FAULT_CHARS)
        known = {passage.id: number for number, passage in enumerate(self._passages, start=1)}
        again = [f"[{known[passage.id]}]" for passage in made.found.passages if passage.id in known]
        new = [passage for passage in made.found.passages if passage.id not in known]
        shown = prompts.passages(new, self._task.settings.max_passage_chars, first=len(self._passages) + 1)
        self._passages += new
        parts = [made.found.text, shown if new else "", f"Shown already: {' '.join(again)}" if again else ""]
        return "\n".join(part for part in parts if part)

    def _say(self, reply: Reply, correction: str) -> None:
        self._messages.append(Message(author="assistant", text=reply.text))
        self._messages.append(Message(author="user", text=correction))

    def _settled(self, draft: Draft) -> Draft:
        """The draft with its payload, and with the passages it may be verified by."""
        cited = {citation.passage for citation in draft.citations}
        retrieved = self._task.retrieved.passages
        kept = (*retrieved, *(one for one in self._passages[len(retrieved) :] if one.id in cited))
        if self.payload is not None and draft.answer.type in ("normal", "not_found"):
            draft = structured(draft.answer.content, self.payload, draft)
        elif self._task.settings.uncited and not draft.named and draft.answer.type == "normal":
            draft = structured(draft.answer.content, None, draft)
        return draft._replace(passages=_unique(kept))


def _unique(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple({passage.id: passage for passage in passages}.values())
