"""The model that plays `fast` confirms that two questions ask the same, before an answer is reused."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from services.retrieval.semantic_cache.prompts import RULES
from services.retrieval.semantic_cache.settings import SemanticCacheSettings
from shared.contracts.errors import ModelError
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block
from shared.llm.prompts import assemble

_QUESTION = 2000


class SameQuestionReply(BaseModel):
    """The model's reply on whether two questions ask the same."""

    same: bool
    reason: str = Field(default="", max_length=500)


class MatchReferee:
    """Asks the model about a match that the rules made."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def objection(self, text: str, earlier: str, settings: SemanticCacheSettings, introduction: str) -> str:
        """Why the model says that the questions differ; empty when it says that they ask the same.

        A model that is missing, late or fails objects: without its word nothing is reused.
        """
        if not self._models.has("fast"):
            return "no model has the role fast, which must confirm the match"
        blocks = f"{block('question', text, limit=_QUESTION)}\n{block('earlier', earlier, limit=_QUESTION)}"
        try:
            async with asyncio.timeout(settings.model_seconds):
                system = assemble(settings.prompt, introduction, RULES)
                reply = await self._models.invoke("fast", "same_question", system, blocks, SameQuestionReply)
        except (ModelError, TimeoutError):
            return "the model failed to confirm the match"
        return "" if reply.same else f"the model: {reply.reason or 'not the same'}"
