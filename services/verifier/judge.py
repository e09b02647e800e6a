"""The judge: a model that scores a draft and says what the next one must do better.

What it reads besides its prompt is data in blocks, each of bounded length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from services.verifier.prompts import RULES
from services.verifier.settings import VerifierSettings
from shared.contracts.domain import Passage, Sentence
from shared.contracts.errors import ModelError
from shared.contracts.facts import AnswerDrafted
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block
from shared.llm.prompts import assemble

#: Limits in characters of what the judge reads: the question, one sentence, all sentences, one passage, all passages.
QUESTION, SENTENCE, ANSWER, PASSAGE, PASSAGES = 2000, 1500, 8000, 2500, 16_000
#: Limits in characters of what the judge writes.
FEEDBACK, REWRITTEN = 600, 400


def _line(longest: int) -> BeforeValidator:
    """A text on one line, cut after `longest` characters."""
    return BeforeValidator(lambda value: " ".join(value.split())[:longest] if isinstance(value, str) else value)


Score = Annotated[float, Field(ge=0, le=1)]


class JudgeReply(BaseModel):
    """The judge's reply; `unsupported` are numbers of sentences, from 1."""

    relevancy: Score
    groundedness: Score
    completeness: Score
    unsupported: list[int] = Field(default_factory=list, max_length=200)
    feedback: Annotated[str, _line(FEEDBACK)] = ""
    rewritten_question: Annotated[str, _line(REWRITTEN)] = ""


async def ask_judge(
    models: Models, draft: AnswerDrafted, sentences: Sequence[Sentence], settings: VerifierSettings, remaining: float
) -> JudgeReply | None:
    """The judge's reply; None without a model, or without a valid reply in time.

    The judge has `judge_seconds`, or half of the `remaining` seconds if that is less.
    """
    user = judge_input(draft, sentences)
    system = assemble(settings.judge_prompt, settings.project_introduction, RULES)
    try:
        async with asyncio.timeout(max(0.0, min(settings.judge_seconds, remaining / 2))):
            return await models.invoke("judge", "judge", system, user, JudgeReply)
    except (ModelError, TimeoutError):
        return None


def judge_input(draft: AnswerDrafted, sentences: Iterable[Sentence]) -> str:
    """The question, the answer and the passages as blocks of data; cited passages come first."""
    question = draft.question.text
    searched = draft.question.standalone_text(draft.context)
    cited = {citation.passage for citation in draft.citations}
    passages = sorted(draft.passages, key=lambda passage: passage.id not in cited)
    shown_sentences = _limits([sentence.text for sentence in sentences], SENTENCE, ANSWER)
    shown_passages = _limits([_text(passage) for passage in passages], PASSAGE, PASSAGES)
    parts = [block("question", question, limit=QUESTION)]
    if searched != question:
        parts.append(block("question_as_searched", searched, limit=QUESTION))
    for name, shown in (("sentence", shown_sentences), ("passage", shown_passages)):
        numbered = enumerate(shown, start=1)
        parts.append("\n".join(block(name, text, limit=limit, number=number) for number, (text, limit) in numbered))
    return "\n\n".join(parts)


def _limits(texts: Iterable[str], each: int, together: int) -> list[tuple[str, int]]:
    """The first texts, as many as fit into `together` characters, with the limit of each."""
    shown: list[tuple[str, int]] = []
    room = together
    for text in texts:
        if room <= 0:
            break
        shown.append((text, min(each, room)))
        room -= len(text)
    return shown


def _text(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
