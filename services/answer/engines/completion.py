"""What chat and agent share: the system text, whether asking back is allowed, and what a completion comes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.answer import prompts
from services.answer.answer_builder import compose
from services.answer.completion_stream import Writing
from services.answer.engines.extractive import not_found
from services.answer.engines.sentence_ranking import language_of
from services.answer.output_parsers.reader import Written
from services.answer.ports import AskedBack, Draft, Speech
from services.answer.settings import AnswerSettings
from shared.contracts.domain import Passage, Turn, links_section
from shared.contracts.errors import ModelError
from shared.contracts.facts import PassagesRetrieved
from shared.llm.prompts import assemble

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
