"""What a question asks for: as it stands by itself, what to search with, and in which parts; or what to ask back."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from services.retrieval.query_rewriting.model_steps import QuestionModel, Restated
from services.retrieval.query_rewriting.settings import UnderstandingSettings
from services.retrieval.query_rewriting.standalone import refers_back, standalone, times_asked_back
from services.retrieval.query_rewriting.topics import Resolved
from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Question
from shared.llm.ports import Models
from shared.text.languages import UNKNOWN

#: How the question back is put by rule, by language.
_WHICH = {"eng": "What do you mean by “{word}”?", "fra": "Que désigne « {word} » ?"}


@dataclass(frozen=True)
class Step:
    """One step and how long it took, in milliseconds."""

    explained: Explanation
    took_ms: float


@dataclass(frozen=True)
class Understood:
    """`question` stands by itself; `query` is another text to search with, `parts` the questions it is made of.

    With `clarification` the asker has to choose first, among the `options`.
    """

    question: str
    query: str = ""
    parts: tuple[str, ...] = ()
    clarification: str = ""
    options: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def searched(self) -> tuple[str, ...]:
        """The texts to search with beside the question."""
        return (*((self.query,) if self.query else ()), *self.parts)


class Understanding:
    """Reads questions, by rule and with the model that plays `fast`."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def of(
        self, question: Question, settings: UnderstandingSettings, introduction: str = "", remaining: float = 60.0
    ) -> Understood:
        """The question of an asker, with `remaining` seconds to answer it in."""
        model = QuestionModel(self._models, settings, introduction, remaining / 4)
        began = time.perf_counter()
        may_ask = settings.clarify and times_asked_back(question.turns) < settings.max_clarifications
        restated, how = await self._restated(question, settings, model, may_ask=may_ask)
        steps = (Step(how, _since(began)),) if how else ()
        if restated.choices:
            return Understood(
                question.search_text, clarification=restated.clarification, options=restated.choices, steps=steps
            )
        understood = await self.planned(restated.question, settings, introduction, remaining)
        return Understood(restated.question, understood.query, understood.parts, steps=(*steps, *understood.steps))

    async def planned(
        self, question: str, settings: UnderstandingSettings, introduction: str = "", remaining: float = 60.0
    ) -> Understood:
        """A question that stands by itself: what to search with, and its parts; the two are asked for side by side."""
        model = QuestionModel(self._models, settings, introduction, remaining / 4)
        began = time.perf_counter()
        query, parts = await asyncio.gather(
            model.query(question) if settings.query_rewriting else _nothing(),
            model.parts(question) if settings.decomposition else _none(),
        )
        steps = []
        if query:
            steps.append(Step(Explanation("query", (StepChange(f"also searched for: {query}"),)), _since(began)))
        if parts:
            told = tuple(StepChange(f"asks: {part}") for part in parts)
            steps.append(Step(Explanation("parts", told), _since(began)))
        return Understood(question, query or "", parts, steps=tuple(steps))

    async def _restated(
        self, question: Question, settings: UnderstandingSettings, model: QuestionModel, *, may_ask: bool
    ) -> tuple[Restated, Explanation]:
        """By the model where it is to, else by rule."""
        text = question.search_text
        if settings.rewriting and (question.turns or refers_back(text, _language(question))):
            reply = await model.restate(question, may_ask=may_ask)
            if reply is not None:
                return reply, _told(text, reply, "by the model")
        if not settings.standalone:
            return Restated(question=text), Explanation("standalone")
        # A text that was translated is in another language than the turns.
        resolved = Resolved(text) if text != question.text else standalone(text, question.turns, _language(question))
        reply = Restated(question=resolved.question)
        if resolved.several and may_ask:
            asked = _WHICH.get(_language(question), _WHICH["eng"]).format(word=resolved.unclear)
            reply = Restated(question=text, clarification=asked, options=list(resolved.several))
        return reply, _told(text, reply, resolved.why)


def _told(text: str, reply: Restated, why: str) -> Explanation:
    if reply.choices:
        return Explanation("standalone", (StepChange(f"asked back: {reply.clarification}"),))
    changed = (StepChange(f"{reply.question} ({why})"),) if reply.question != text else ()
    return Explanation("standalone", changed)


def _language(question: Question) -> str:
    known = question.pivot_language if question.pivot_text else UNKNOWN
    return known if known != UNKNOWN else question.language


async def _nothing() -> None:
    return None


async def _none() -> tuple[str, ...]:
    return ()


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 2)
