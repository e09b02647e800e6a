"""Applies a pipeline's `endings` to the facts that end its questions: silence, and where the asker can look instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import quote

from shared.contracts.domain import Link, PipelineRef, Question
from shared.contracts.facts import AnswerVerified, ClarificationRequested, Fact, QuestionAbandoned, QuestionRejected
from shared.contracts.pipelines import EndingSettings, SilentEnding
from shared.text.languages import UNKNOWN, localised

#: The endings of a pipeline; the defaults where the pipeline does not exist any more.
EndingsOf = Callable[[PipelineRef], Awaitable[EndingSettings]]

F = TypeVar("F", bound=Fact)

#: The longest question that is put into the address of a search page, in characters.
_QUERY_CHARS = 300


async def default_endings(_: PipelineRef) -> EndingSettings:
    """The endings where no pipelines are known."""
    return EndingSettings()


def apply_endings(fact: F, settings: EndingSettings, question: Question | None) -> F:
    """The fact with the ending that its pipeline has for the question; unchanged unless it ends one without a verified
    answer.

    `question` is the moderated one, None where it has not passed moderation: then no link contains its text. An ending
    that reports what a tool changed for the asker is never silent. A rejection without a link gets one: the search page
    for a question that is only too short, else the home page.
    """
    ending = _ending(fact)
    if ending is None:
        return _rejected_with_link(fact, settings)
    if ending in settings.silent and not _tells_effect(fact):
        return fact.model_copy(update={"reply": False})
    link = fallback_link(settings, question)
    if link is None:
        return fact
    if isinstance(fact, QuestionAbandoned):
        return fact.model_copy(update={"links": _with(fact.links, link)})
    if isinstance(fact, AnswerVerified):
        answer = fact.answer.model_copy(update={"links": _with(fact.answer.links, link)})
        return fact.model_copy(update={"answer": answer})
    return fact


def fallback_link(settings: EndingSettings, question: Question | None, language: str = UNKNOWN) -> Link | None:
    """The search page for the question, else the home page; None without either.

    It is in the language of the question, or in the given one without a question.
    """
    language = question.language if question else language
    search = localised(settings.search_url, language)
    if search and question is not None:
        return Link(url=search.replace("{query}", quote(question.text[:_QUERY_CHARS], safe="")))
    home = localised(settings.home_url, language)
    return Link(url=home) if home else None


def _rejected_with_link(fact: F, settings: EndingSettings) -> F:
    """Silent rejections, rejections with a link, and all other facts stay as they are."""
    if not isinstance(fact, QuestionRejected) or fact.link is not None or not fact.reply:
        return fact
    question = Question(text=fact.text, language=fact.language)
    searched = question if fact.kind == "too_short" else None
    link = fallback_link(settings, searched, fact.language)
    return fact if link is None else fact.model_copy(update={"link": link})


def question_of(*facts: Fact) -> Question | None:
    """The moderated question that the first of these facts has that has one."""
    found = (getattr(fact, "question", None) for fact in facts)
    return next((question for question in found if isinstance(question, Question)), None)


def _ending(fact: Fact) -> SilentEnding | None:
    """Which of the endings a pipeline may name this fact is; None for the others."""
    if isinstance(fact, QuestionAbandoned):
        return "abandoned"
    if isinstance(fact, ClarificationRequested):
        return "clarification"
    if isinstance(fact, AnswerVerified):
        if fact.best_effort or (fact.refuted and fact.answer.type in ("not_found", "refusal")):
            return "refuted"
        if fact.answer.type == "not_found":
            return "not_found"
    return None


def _tells_effect(fact: Fact) -> bool:
    payload = fact.answer.payload if isinstance(fact, AnswerVerified) else getattr(fact, "payload", None)
    return str((payload or {}).get("type", "text")) != "text"


def _with(links: tuple[Link, ...], link: Link) -> tuple[Link, ...]:
    return links if any(known.url == link.url for known in links) else (*links, link)
