"""The reranker `model`: a model reads the leading passages and gives the order in which they answer the question."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from services.retrieval.rerankers.prompts import RULES
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.language.rules.instructions.injections import without_instructions
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block
from shared.llm.prompts import assemble

#: Characters that the model reads: of the question, of one passage, of all passages.
QUESTION, PASSAGE, PASSAGES = 2000, 800, 16_000


class RerankReply(BaseModel):
    """The reply: numbers of passages from 1, best first; irrelevant ones may be left out."""

    order: list[int] = Field(max_length=200)


class ModelReranker:
    """Asks the model of the role `fast`."""

    name = "model"

    def __init__(self, models: Models) -> None:
        self._models = models

    async def rerank(
        self,
        question: str,
        passages: Sequence[Passage],
        reasons: Sequence[str],
        *,
        language: str,
        settings: RetrievalSettings,
    ) -> list[Passage]:
        """Passages that the model does not name follow in their former order."""
        system = assemble(settings.reranking.prompt, settings.project_introduction, RULES)
        reply = await self._models.invoke("fast", "rerank", system, prompt(question, passages, reasons), RerankReply)
        named = [number - 1 for number in dict.fromkeys(reply.order) if 0 < number <= len(passages)]
        order = [*named, *(place for place in range(len(passages)) if place not in set(named))]
        # They take each other's scores, so that these fall from the first to the last as before.
        return [passages[place].rescored(passages[rank].score) for rank, place in enumerate(order)]


def prompt(question: str, passages: Sequence[Passage], reasons: Sequence[str]) -> str:
    """The question and the passages as numbered blocks of data; each gets an equal share of the characters."""
    each = min(PASSAGE, PASSAGES // max(1, len(passages)))
    parts = [block("question", question, limit=QUESTION, why=" ".join(reasons))]
    for number, passage in enumerate(passages, start=1):
        text, _ = without_instructions(f"{passage.title}\n{passage.text}" if passage.title else passage.text)
        parts.append(block("passage", text, limit=each, number=number, date=passage.date or "unknown"))
    return "\n".join(parts)
