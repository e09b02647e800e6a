"""What moderation needs from the outside: engines that know more than its own rules."""

from __future__ import annotations

from typing import Protocol

from services.moderation.private.span import Span
from services.moderation.settings import ModerationSettings


class PrivateData(Protocol):
    """Finds private data."""

    async def spans(self, text: str, settings: ModerationSettings) -> tuple[Span, ...]:
        """What the pipeline's engine finds; nothing when the pipeline asks for none.

        Raises:
            ConfigurationError: the engine that the pipeline asks for is not installed.
        """


class AnswerGuard(Protocol):
    """Judges an answer by the rails of the pipeline."""

    async def stops_answer(
        self, question: str, answer: str, settings: ModerationSettings, seconds: float
    ) -> bool | None:
        """Whether the output flows stop the answer; None when they cannot say within `seconds`."""


class Guard(Protocol):
    """Judges a question by the rails of the pipeline."""

    async def objects(self, text: str, settings: ModerationSettings, remaining: float) -> bool:
        """Whether the rails stop the text, or cannot say and the pipeline wants them to fail closed.

        They have as long as the pipeline gives them, and never more than a third of `remaining` seconds.
        """
