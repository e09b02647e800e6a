"""`search_content`: articles and videos about a topic."""

from __future__ import annotations

from typing import Literal, cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from services.answer.tools.tool_output import json_rows
from shared.contracts.domain import DialogueState
from shared.contracts.payloads import ContentRecommendationsPayload
from shared.contracts.requests.directory import ContentRequest
from shared.contracts.requests.request import RequestClient
from shared.text.languages import UNKNOWN


class SearchContentArguments(Arguments):
    topic: str = Field(min_length=1, max_length=200, description="What it is to be about.")
    type: Literal["articles", "videos", ""] = Field(default="", description="Which kind; empty: both.")
    limit: int = Field(default=5, ge=1, le=10, description="How many.")


class SearchContent:
    """Plays `AgentTool` by asking persistence."""

    name = "search_content"
    description = "Find articles and videos about a topic. The person is shown what you find."
    arguments = SearchContentArguments

    def __init__(self, asker: RequestClient) -> None:
        self._requests = asker

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values = cast("SearchContentArguments", arguments)
        request = ContentRequest(
            tenant=context.run.tenant,
            topic=values.topic,
            kind=values.type,
            language=context.question.language,
            limit=values.limit,
        )
        reply = await self._requests.ask(request)
        learned = DialogueState(
            intent="content",
            content_topic=values.topic,
            content_type=values.type,
            content_language=context.question.language if context.question.language != UNKNOWN else "",
        )
        if not reply.items:
            return ToolOutput(text="Nothing about this topic is in the collection.", learned=learned)
        payload = ContentRecommendationsPayload(topic=values.topic, items=reply.items)
        learned = learned.model_copy(update={"agent_completed": "content"})
        return ToolOutput(text=json_rows("content", reply.items), payload=payload, learned=learned)
