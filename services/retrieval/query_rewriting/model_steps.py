"""The steps that a model takes with a question: restated, as a search text, in parts. A step that fails gives None."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, Field

from services.retrieval.query_rewriting.prompts import CLARIFY_RULES, DECOMPOSE_RULES, QUERY_RULES, RESTATE_RULES
from services.retrieval.query_rewriting.settings import UnderstandingSettings
from shared.contracts.domain import Question, Turn
from shared.contracts.errors import ModelError
from shared.contracts.sessions import newest
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block, turn_blocks
from shared.llm.prompts import assemble

#: What a model reads: of the question, of an earlier turn and how many of them, in characters.
QUESTION, TURN, TURNS = 10_000, 600, 5
#: A question that was restated may be so many times as long, and so many characters more.
_TIMES, _MORE = 4, 300
#: What a query and a part may be long.
_QUERY, _PART, _OPTION = 600, 400, 120

R = TypeVar("R", bound=BaseModel)


def _line(longest: int) -> BeforeValidator:
    """A text on one line, cut where it gets too long."""
    return BeforeValidator(lambda value: " ".join(value.split())[:longest] if isinstance(value, str) else value)


class Restated(BaseModel):
    """The reply of `restate`; `options` are what can be meant where the model asks back."""

    question: Annotated[str, _line(QUESTION)]
    clarification: Annotated[str, _line(_PART)] = ""
    options: list[Annotated[str, _line(_OPTION)]] = Field(default_factory=list, max_length=20)

    @property
    def choices(self) -> tuple[str, ...]:
        """The options, each once, five at most; none where there are not two."""
        found = tuple(dict.fromkeys(option for option in self.options if option))[:5]
        return found if self.clarification and len(found) > 1 else ()


class Query(BaseModel):
    """The reply of `query`."""

    query: Annotated[str, _line(_QUERY)]


class Parts(BaseModel):
    """The reply of `decompose`."""

    questions: list[Annotated[str, _line(_PART)]] = Field(min_length=1, max_length=20)


class QuestionModel:
    """Asks the model that plays `fast`, for one question."""

    def __init__(self, models: Models, settings: UnderstandingSettings, introduction: str, patience: float) -> None:
        self._models = models
        self._settings = settings
        self._introduction = introduction
        self._patience = max(0.0, min(settings.model_seconds, patience))

    async def restate(self, question: Question, *, may_ask: bool) -> Restated | None:
        """The question as it stands by itself, or a question back."""
        rules = CLARIFY_RULES if may_ask else RESTATE_RULES
        text = question.search_text
        told = "\n".join([*map(_turn, newest(question.turns, TURNS)), block("question", text, limit=QUESTION)])
        reply = await self._ask("restate", self._settings.rewriting_prompt, rules, told, Restated)
        if reply is None or not reply.question or len(reply.question) > _TIMES * len(text) + _MORE:
            return None
        return reply if may_ask else reply.model_copy(update={"clarification": "", "options": []})

    async def query(self, question: str) -> str | None:
        """A text to search with; None too when it is the question itself."""
        told = block("question", question, limit=QUESTION)
        reply = await self._ask("query", self._settings.query_prompt, QUERY_RULES, told, Query)
        return reply.query if reply and reply.query and reply.query.casefold() != question.casefold() else None

    async def parts(self, question: str) -> tuple[str, ...]:
        """The questions it is made of; none when it is one."""
        told = block("question", question, limit=QUESTION)
        reply = await self._ask("decompose", self._settings.decomposition_prompt, DECOMPOSE_RULES, told, Parts)
        found = tuple(dict.fromkeys(one for one in reply.questions if one)) if reply else ()
        return found[: self._settings.max_sub_questions] if len(found) > 1 else ()

    async def _ask(self, step: str, prompt: str, rules: str, told: str, reply: type[R]) -> R | None:
        try:
            async with asyncio.timeout(self._patience):
                system = assemble(prompt, self._introduction, rules)
                return await self._models.invoke("fast", step, system, told, reply)
        except (ModelError, TimeoutError):
            return None


def _turn(turn: Turn) -> str:
    return turn_blocks(turn, limit=TURN)
