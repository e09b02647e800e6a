"""The judge: a model that scores a draft and says what the next one must do better.

What it reads besides its prompt is data in blocks, each of bounded length. A verdict that cannot be had (no model, no
time, no reply that fits) is no error: the rules say theirs then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from services.verifier.draft_assessment import Finding
from services.verifier.prompts import RULES
from services.verifier.rules import asked_text, examine, stating
from services.verifier.scores import weigh
from services.verifier.settings import VerifierSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import ModelError
from shared.contracts.facts import AnswerDrafted
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block
from shared.llm.prompts import assemble

#: Characters that the judge reads: of the question, of a sentence and of all, of a passage and of all.
QUESTION, SENTENCE, ANSWER, PASSAGE, PASSAGES = 2000, 1500, 8000, 2500, 16_000
#: ... and may say.
FEEDBACK, REWRITTEN = 600, 400


def _line(longest: int) -> BeforeValidator:
    """A text on one line, cut where it gets too long."""
    return BeforeValidator(lambda value: " ".join(value.split())[:longest] if isinstance(value, str) else value)


Score = Annotated[float, Field(ge=0, le=1)]


class Verdict(BaseModel):
    """What the judge replies; `unsupported` are numbers of sentences, from 1."""

    relevancy: Score
    groundedness: Score
    completeness: Score
    unsupported: list[int] = Field(default_factory=list, max_length=200)
    feedback: Annotated[str, _line(FEEDBACK)] = ""
    rewritten_question: Annotated[str, _line(REWRITTEN)] = ""


async def judged(
    models: Models, drafted: AnswerDrafted, settings: VerifierSettings, remaining: float
) -> Finding | None:
    """What the judge finds of a draft; None when it cannot say, for any reason.

    What the rules know for certain stays a fault whatever the judge says: a citation that leads elsewhere, a number
    that is in no passage, a quotation that is none. Then the judge is not asked.
    """
    certain = examine(drafted, settings, overlap=False)
    if certain.faults:
        return certain
    system = assemble(settings.judge_prompt, settings.project_introduction, RULES)
    try:
        async with asyncio.timeout(max(0.0, min(settings.judge_seconds, remaining / 2))):
            verdict = await models.invoke("judge", "judge", system, brief(drafted), Verdict)
    except (ModelError, TimeoutError):
        return None
    return _finding(verdict, len(stating(drafted.answer).sentences))


def brief(drafted: AnswerDrafted) -> str:
    """The question, the answer and the passages as blocks of data."""
    question = drafted.question.text
    searched = asked_text(drafted)
    parts = [block("question", question, limit=QUESTION)]
    if searched != question:
        parts.append(block("question_as_searched", searched, limit=QUESTION))
    parts.append(_numbered("sentence", (one.text for one in stating(drafted.answer).sentences), SENTENCE, ANSWER))
    parts.append(_numbered("passage", (_text(passage) for passage in _cited_first(drafted)), PASSAGE, PASSAGES))
    return "\n\n".join(parts)


def _finding(verdict: Verdict, count: int) -> Finding:
    missing = tuple(sorted({number - 1 for number in verdict.unsupported if 0 < number <= count}))
    faults = (f"{len(missing)} of {count} sentences are not in the passages, says the judge",) if missing else ()
    return Finding(
        faults,
        missing,
        weigh(verdict.groundedness, verdict.relevancy, verdict.completeness),
        judged_by="judge",
        remark=verdict.feedback,
        rewritten=verdict.rewritten_question,
    )


def _numbered(name: str, texts: Iterable[str], each: int, together: int) -> str:
    """A block for each text while there is room, numbered from 1."""
    written: list[str] = []
    room = together
    for number, text in enumerate(texts, start=1):
        if room <= 0:
            break
        written.append(block(name, text, limit=min(each, room), number=number))
        room -= len(text)
    return "\n".join(written)


def _cited_first(drafted: AnswerDrafted) -> list[Passage]:
    cited = {citation.passage for citation in drafted.citations}
    return sorted(drafted.passages, key=lambda passage: passage.id not in cited)


def _text(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
