"""What chat and agent share: the system text, whether asking back is allowed, and what a completion comes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.answer import prompts
from services.answer.composing import compose
from services.answer.evidence import language_of
from services.answer.extractive import not_found
from services.answer.ports import AskedBack, Draft, Speech
from services.answer.reading import Written
from services.answer.settings import AnswerSettings
from services.answer.writing import Writing
from shared.answers import links_section
from shared.domain import Passage, Turn
from shared.errors import ModelError
from shared.facts import PassagesRetrieved
from shared.models.prompts import assemble

_ASKED_BACK = re.compile(r"[?？؟]\s*(?:\([^()]*\))?\s*$")


class Task(NamedTuple):
    """One answer to write: from what, how, to whom; `asking` says whether asking back is allowed."""

    retrieved: PassagesRetrieved
    settings: AnswerSettings
    speak: Speech
    asking: bool


def may_ask(turns: Sequence[Turn], attempt: int, settings: AnswerSettings) -> bool:
    """Whether asking back is allowed: never on the final turn, which is the one after a question back, or a retry."""
    return settings.clarify and attempt == 0 and not (turns and _ASKED_BACK.search(turns[-1].answer))


def system_text(prompt: str, settings: AnswerSettings, *, asking: bool, further: str = "") -> str:
    """The prompt, the introduction and the fixed rules, the same for every question of a pipeline."""
    fixed = prompts.rules(
        settings.format, may_ask=asking, sentences=settings.max_sentences, chars=settings.max_answer_chars
    )
    return assemble(prompt, settings.project_introduction, "\n\n".join(part for part in (further, fixed) if part))


async def finished(
    content: str, written: Written, writing: Writing, passages: Sequence[Passage], task: Task
) -> Draft | AskedBack:
    """What a completion comes to; its content was said to `task.speak`.

    Raises:
        ModelError: it holds nothing that can be used.
    """
    settings, question = task.settings, task.retrieved.question
    if written.clarification:
        if not task.asking:
            raise ModelError("the model asked back where it must answer")
        return AskedBack(written.clarification, written.options)
    if written.not_found:
        answer = not_found(question.language, passages, settings)
        await task.speak(answer.content)
        return Draft(answer)
    if not content:
        raise ModelError("the model wrote no answer")
    language = language_of(question)
    draft = compose(content, written, writing.markers, passages, language=language, max_links=settings.max_links)
    if settings.links_section and (section := links_section(draft.answer.links)):
        await task.speak(section)
        draft = draft._replace(answer=draft.answer.model_copy(update={"content": content + section}))
    return draft
