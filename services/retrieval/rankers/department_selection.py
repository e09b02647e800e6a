"""Lets a model name the department of a question that no clue of the table matches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel, Field

from services.retrieval.rankers.departments import NAME, Department, DepartmentMatch, DepartmentSettings
from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.errors import ModelError
from shared.llm.ports import Models
from shared.llm.prompt_blocks import DATA_RULES, block
from shared.llm.prompts import assemble
from shared.text.languages import UNKNOWN

#: What the model reads: characters of the question, of a line, number of departments and of passages.
QUESTION, LINE, DEPARTMENTS, PASSAGES = 2000, 400, 200, 8

RULES = f"""\
{DATA_RULES}
Each line of the departments begins with its code; its topics follow its names.

Reply with one JSON object and nothing else:
- "department": the code of the department that is responsible, empty when it is none of them or unclear
- "topic": the topic of that department, as the line spells it; empty when it is none of them"""


class DepartmentReply(BaseModel):
    """The reply of the model."""

    department: str = Field(default="", max_length=200)
    topic: str = Field(default="", max_length=200)


class DepartmentModel:
    """Names departments with the role `fast`."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def choose(
        self,
        question: str,
        passages: Sequence[Passage],
        settings: DepartmentSettings,
        *,
        introduction: str = "",
        language: str = UNKNOWN,
    ) -> tuple[DepartmentMatch, Explanation]:
        """The department that the model names, as the table has it; nothing where it names none, or does not answer.

        `language` is that of the page to read on.
        """
        found = "\n".join(f"{passage.title} {passage.url}"[:LINE] for passage in passages[:PASSAGES])
        listed = "\n".join(_line(department)[:LINE] for department in settings.departments[:DEPARTMENTS])
        prompt = "\n".join(
            (
                block("question", question, limit=QUESTION),
                block("pages-found", found, limit=LINE * PASSAGES),
                block("departments", listed, limit=LINE * DEPARTMENTS),
            )
        )
        try:
            async with asyncio.timeout(settings.model_seconds):
                system = assemble(settings.prompt, introduction, RULES)
                reply = await self._models.invoke("fast", "department", system, prompt, DepartmentReply)
        except (ModelError, TimeoutError):
            return DepartmentMatch(), Explanation(NAME)
        matched = settings.named(reply.department, reply.topic, language=language)
        if not matched.department:
            return matched, Explanation(NAME)
        label = f"{matched.department} / {matched.topic}" if matched.topic else matched.department
        return matched, Explanation(NAME, (StepChange(f"{label} (by the model)"),))


def _line(department: Department) -> str:
    topics = ", ".join(topic.name for topic in department.topics)
    return f"{department.code}: {', '.join(department.names)}{f'; topics: {topics}' if topics else ''}"
