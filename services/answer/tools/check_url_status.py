"""`check_url_status`: checks whether a web address works before it is given to the asker."""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from services.answer.tools.web_clients import WebClients


class CheckUrlStatusArguments(Arguments):
    url: str = Field(min_length=8, max_length=2000, description="The address, beginning with https:// or http://.")


class CheckUrlStatus:
    """Plays `AgentTool`."""

    name = "check_url_status"
    description = "Check whether a web address works before you give it to anybody."
    arguments = CheckUrlStatusArguments

    def __init__(self, web: WebClients) -> None:
        self._web = web

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values = cast("CheckUrlStatusArguments", arguments)
        answer = await self._web.client(values.url, context).status(values.url)
        moved = f", now at {answer.url}" if answer.url != values.url else ""
        return ToolOutput(
            text=f"{'It works' if answer.status < 400 else 'It does not work'}: status {answer.status}{moved}."
        )
