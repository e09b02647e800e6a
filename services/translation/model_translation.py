"""The step that puts a question into the language of the documents, by the model that plays `fast`."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from pydantic import BaseModel, Field

from services.translation.prompts import RULES
from services.translation.settings import TranslationSettings
from shared.contracts.domain import Question
from shared.contracts.errors import ModelError
from shared.contracts.sessions import newest
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block, turn_blocks
from shared.llm.prompts import assemble
from shared.text.languages import UNKNOWN, code3, english_name

#: Earlier turns that are told, and how much of them, in characters.
TURNS, TURN = 3, 600
LONGEST = 10_000
#: A translation may be so many times as long as the question, and so many characters more.
_TIMES, _MORE = 4, 200


class Reply(BaseModel):
    """What the model replies; `language` is ISO 639-3."""

    language: str = Field(max_length=40)
    text: str


class Translated(NamedTuple):
    """The question's language as the model sees it (`und` when it names none), and its text in the pivot language."""

    language: str
    text: str


async def translated(
    models: Models, question: Question, settings: TranslationSettings, remaining: float
) -> Translated | None:
    """The question in the pivot language; None when no model gave a translation that can be used, in time."""
    system = assemble(settings.translate_prompt, settings.project_introduction, RULES)
    try:
        async with asyncio.timeout(max(0.0, min(settings.translate_seconds, remaining / 3))):
            reply = await models.invoke("fast", "translate", system, brief(question, settings.pivot_language), Reply)
    except (ModelError, TimeoutError):
        return None
    text = " ".join(reply.text.split())
    if not text or len(text) > _TIMES * len(question.text) + _MORE:
        return None
    return Translated(code3(reply.language), text)


def brief(question: Question, pivot: str) -> str:
    """The earlier turns and the question as blocks of data."""
    parts = [turn_blocks(turn, limit=TURN) for turn in newest(question.turns, TURNS)]
    target = f"{english_name(pivot)} ({pivot})"
    parts.append(block("question", question.text, limit=LONGEST, target=target))
    return "\n".join(parts)


def is_pivot(language: str, settings: TranslationSettings) -> bool:
    """Whether a question in that language needs no translation; one that is not known may need it."""
    return language != UNKNOWN and language == settings.pivot_language
