"""NeMo Guardrails as a check (extra `guardrails`): Colang 1 flows of the pipeline, our models behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import structlog

from services.moderation.settings import ModerationSettings
from shared.contracts.errors import AnswerbusError, ConfigurationError
from shared.llm.ports import Message, Models
from shared.observability import telemetry

if TYPE_CHECKING:
    from nemoguardrails import LLMRails

log = structlog.get_logger()

Flows = Callable[["LLMRails", list[dict[str, str]]], Awaitable[bool]]

_AUTHORS = {"system": "system", "user": "user", "assistant": "assistant"}
_KEPT = 8


class NemoGuard:
    """Rails by configuration, each built once in a thread; one that cannot be built fails as the pipeline says."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._rails: dict[tuple[str, str], asyncio.Task[LLMRails]] = {}

    async def objects(self, text: str, settings: ModerationSettings, remaining: float) -> bool:
        """Whether the input flows stop the text; when they cannot say in time, whether the pipeline fails closed.

        Rails that take longer to build are built to the end, for the questions that come after.
        """
        stopped = await self._stopped(_input, [_said("user", text)], settings, remaining / 3)
        return settings.guardrails_fail == "closed" if stopped is None else stopped

    async def stops_answer(
        self, question: str, answer: str, settings: ModerationSettings, seconds: float
    ) -> bool | None:
        """Whether the output flows stop the answer; None when they cannot say within `seconds`.

        What a flow would put in the place of the answer is not looked at: an answer is given as it was checked, or not.
        """
        return await self._stopped(_output, [_said("user", question), _said("assistant", answer)], settings, seconds)

    async def _stopped(
        self, flows: Flows, messages: list[dict[str, str]], settings: ModerationSettings, seconds: float
    ) -> bool | None:
        if not settings.guardrails_colang:
            return False
        try:
            async with asyncio.timeout(max(0.0, min(settings.guardrails_seconds, seconds))):
                return await flows(await self._built(settings), messages)
        except Exception as error:  # whatever a third party's flows do, the question is not lost
            log.warning("guardrails could not judge", fails=settings.guardrails_fail, error=_told(error))
            telemetry.GUARDRAILS_FAILED.labels(settings.guardrails_fail).inc()
            return None

    async def open(self) -> None:
        """Nothing is built before a pipeline asks for it."""

    async def close(self) -> None:
        """Rails being built are waited for, because a thread cannot be stopped."""
        building, self._rails = list(self._rails.values()), {}
        await asyncio.gather(*building, return_exceptions=True)

    async def _built(self, settings: ModerationSettings) -> LLMRails:
        key = (settings.guardrails_colang, settings.guardrails_config)
        task = self._rails.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            while len(self._rails) >= _KEPT:
                self._rails.pop(next(iter(self._rails)))
            task = asyncio.create_task(asyncio.to_thread(_build, *key, self._models))
            self._rails[key] = task
        return await asyncio.shield(task)


def _build(colang: str, config: str, models: Models) -> LLMRails:
    """The rails of a configuration.

    Raises:
        ConfigurationError: Guardrails is not installed.
    """
    try:
        from nemoguardrails import LLMRails, RailsConfig
    except ImportError:
        raise ConfigurationError(
            "moderation.guardrails_colang needs the extra: pip install 'answerbus[guardrails]'"
        ) from None
    return LLMRails(RailsConfig.from_content(colang_content=colang, yaml_content=config), llm=RailsModel(models))


async def _input(rails: LLMRails, messages: list[dict[str, str]]) -> bool:
    return _blocked(await rails.check_async(messages))


async def _output(rails: LLMRails, messages: list[dict[str, str]]) -> bool:
    from nemoguardrails.rails.llm.options import RailType

    if not rails.config.rails.output.flows:
        return False
    return _blocked(await rails.check_async(messages, rail_types=[RailType.OUTPUT]))


def _blocked(result: Any) -> bool:
    return str(result.status.value) == "blocked"


def _said(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def _told(error: Exception) -> str:
    """An error of ours in full; of another's only the type, because its text may quote the question."""
    return str(error) if isinstance(error, AnswerbusError) else type(error).__name__


class RailsModel:
    """The role `fast` as Guardrails calls a model (its `LLMModel` protocol)."""

    model_name = "fast"
    provider_name = "answerbus"
    provider_url = None

    def __init__(self, models: Models) -> None:
        self._models = models

    async def generate_async(self, prompt: Any, *, stop: list[str] | None = None, **_: Any) -> Any:
        """One reply to a text or a list of messages.

        Raises:
            ModelError: no endpoint plays the role, or none answers.
        """
        from nemoguardrails.types import LLMResponse

        reply = await self._models.converse("fast", "guardrails", _messages(prompt))
        text = reply.text
        for mark in stop or ():
            text = text.split(mark, 1)[0]
        return LLMResponse(content=text)

    async def stream_async(self, prompt: Any, *, stop: list[str] | None = None, **_: Any) -> AsyncIterator[Any]:
        """The same reply in one piece."""
        from nemoguardrails.types import LLMResponseChunk

        reply = await self.generate_async(prompt, stop=stop)
        yield LLMResponseChunk(delta_content=reply.content)


def _messages(prompt: Any) -> list[Message]:
    if isinstance(prompt, str):
        return [Message(author="user", text=prompt)]
    return [_message(one) for one in prompt]


def _message(one: Any) -> Message:
    role = one.get("role") if isinstance(one, dict) else getattr(one.role, "value", one.role)
    content = one.get("content") if isinstance(one, dict) else one.content
    author: Any = _AUTHORS.get(str(role), "user")
    return Message(author=author, text=str(content or ""))
