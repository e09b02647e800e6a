"""The steps of moderation that a model takes, side by side: danger, gate, private data. The rules stand without them.

The model reads what the rules left of the text, as data in blocks. A step whose model fails or takes too long says
nothing, and the question goes on by the rules alone.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, Field

from services.moderation.model_settings import ModelStepSettings
from services.moderation.prompts import EMERGENCY_RULES, GATE_RULES, PRIVATE_RULES
from shared.contracts.domain import Finding, Turn
from shared.contracts.errors import ModelError
from shared.contracts.facts import RejectionKind
from shared.contracts.sessions import newest
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block, turn_blocks
from shared.llm.prompts import assemble

MASK = "XXX"
#: What the model reads: of the message, of earlier turns and how many of them, in characters.
MESSAGE, TURN, TURNS = 10_000, 400, 2
#: A shorter text is no private data: it would be masked all over.
_SHORTEST = 2

R = TypeVar("R", bound=BaseModel)


class Danger(BaseModel):
    """The reply of the emergency check."""

    emergency: bool


class Gate(BaseModel):
    """The reply of the gate."""

    kind: Literal["question", "off_topic", "not_a_question"]


class PrivateText(BaseModel):
    """A piece of the message, as it stands there."""

    text: Annotated[str, Field(max_length=300)]
    kind: Literal["name", "id", "address", "other"] = "other"


class PrivateTexts(BaseModel):
    """The reply of the search for private data."""

    found: list[PrivateText] = Field(default_factory=list, max_length=50)


class Told(NamedTuple):
    """What the models say of a text: `emergency` wins over everything; `text` is it without private data.

    `private` is that data as the model named it, whether or not it stands in the text.
    """

    text: str
    emergency: bool = False
    objection: RejectionKind | None = None
    findings: tuple[Finding, ...] = ()
    private: tuple[PrivateText, ...] = ()


class ModelSteps:
    """Asks the model that plays `fast`."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def look(
        self,
        text: str,
        turns: Sequence[Turn],
        settings: ModelStepSettings,
        remaining: float,
        *,
        rejected: bool = False,
    ) -> Told:
        """What the steps that are turned on say of the text; only the emergency check when it is `rejected` anyway.

        An emergency is told as soon as it is known; the others are not waited for then.
        """
        asking = _Asking(self._models, settings, brief(text, turns), remaining)
        danger = asking.task(settings.emergency_check, "emergency", settings.emergency_prompt, EMERGENCY_RULES, Danger)
        gate = asking.task(settings.gate and not rejected, "gate", settings.gate_prompt, GATE_RULES, Gate)
        seeks = settings.ai_pii != "off" and not rejected
        private = asking.task(seeks, "private", settings.ai_pii_prompt, PRIVATE_RULES, PrivateTexts)
        try:
            in_danger = await danger
            if in_danger is not None and in_danger.emergency:
                return Told(text, emergency=True)
            return _told(text, await gate, await private, settings)
        finally:
            for task in (gate, private, danger):
                task.cancel()


class _Asking:
    """One message, put to several steps."""

    def __init__(self, models: Models, settings: ModelStepSettings, message: str, remaining: float) -> None:
        self._models = models
        self._message = message
        self._introduction = settings.project_introduction
        self._patience = max(0.0, min(settings.model_seconds, remaining / 3))

    def task(self, wanted: bool, step: str, prompt: str, rules: str, reply: type[R]) -> asyncio.Task[R | None]:
        """The step's reply; None when it is not wanted, or the model gives none in time."""

        async def ask() -> R | None:
            if not wanted:
                return None
            try:
                async with asyncio.timeout(self._patience):
                    system = assemble(prompt, self._introduction, rules)
                    return await self._models.invoke("fast", step, system, self._message, reply)
            except (ModelError, TimeoutError):
                return None

        return asyncio.create_task(ask())


def brief(text: str, turns: Sequence[Turn]) -> str:
    """The earlier turns and the message as blocks of data."""
    earlier = [turn_blocks(turn, limit=TURN) for turn in newest(turns, TURNS)]
    return "\n".join([*earlier, block("message", text, limit=MESSAGE)])


def _told(text: str, gate: Gate | None, private: PrivateTexts | None, settings: ModelStepSettings) -> Told:
    pieces = tuple(private.found) if private else ()
    masked, findings = without(text, pieces)
    objection: RejectionKind | None = None
    if findings and settings.ai_pii == "block":
        objection = "pii"
    elif gate is not None and gate.kind != "question":
        objection = gate.kind
    return Told(masked, objection=objection, findings=findings, private=pieces)


def without(text: str, found: Sequence[PrivateText]) -> tuple[str, tuple[Finding, ...]]:
    """The text with the pieces masked wherever they stand as whole words, the longest first, and what they were.

    A piece that does not stand in the text counts for nothing.
    """
    counts: Counter[str] = Counter()
    for piece in sorted(found, key=lambda one: -len(one.text)):
        wanted = piece.text.strip()
        if len(wanted) < _SHORTEST or wanted == MASK:
            continue
        text, count = _words(wanted).subn(MASK, text)
        counts[piece.kind] += count
    return text, tuple(Finding(kind=kind, count=count) for kind, count in counts.items() if count)


def places(text: str, found: Sequence[PrivateText]) -> list[tuple[str, int, int]]:
    """Kind, start and end of the pieces in a text in which nothing is masked yet.

    Of a piece that holds a mask, what stands before, between and after counts.
    """
    parts = ((piece.kind, part.strip()) for piece in found for part in piece.text.split(MASK))
    return [
        (kind, *match.span()) for kind, part in parts if len(part) >= _SHORTEST for match in _words(part).finditer(text)
    ]


def _words(piece: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)", re.IGNORECASE)
