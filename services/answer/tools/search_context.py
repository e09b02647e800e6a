"""`search_context`: searches the documents for passages, as retrieval does for the question itself."""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from shared.contracts.requests.request import RequestClient
from shared.contracts.requests.retrieval import SearchRequest


class SearchContextArguments(Arguments):
    query: str = Field(min_length=1, max_length=1000, description="What to look for, in a few words.")
    limit: int = Field(default=5, ge=1, le=10, description="How many passages.")


class SearchContext:
    """Plays `AgentTool` by asking retrieval."""

    name = "search_context"
    description = "Search the documents once more, in other words than the question's. Returns numbered passages."
    arguments = SearchContextArguments

    def __init__(self, asker: RequestClient) -> None:
        self._requests = asker

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values = cast("SearchContextArguments", arguments)
        request = SearchRequest(
            query=values.query,
            language=context.question.pivot_language,
            limit=values.limit,
            pipeline=context.run.pipeline,
            groups=context.run.groups,
            tenant=context.run.tenant,
        )
        reply = await self._requests.ask(request)
        return ToolOutput(text="" if reply.passages else "Nothing was found.", passages=reply.passages)
