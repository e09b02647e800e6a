"""`download_web_page`: fetches one web page; its text becomes a passage that can be cited."""

from __future__ import annotations

import asyncio
from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, ToolContext, ToolOutput
from services.answer.tools.web_clients import WebClients
from shared.contracts.domain import Passage
from shared.contracts.errors import UnavailableError
from shared.language.analysis import guess_language
from shared.text.languages import UNKNOWN, code3
from shared.web.page import read_page


class DownloadWebPageArguments(Arguments):
    url: str = Field(min_length=8, max_length=2000, description="The address, beginning with https:// or http://.")


class DownloadWebPage:
    """Plays `AgentTool`."""

    name = "download_web_page"
    description = "Read a web page, for example one that a passage comes from or names. Returns its text as a passage."
    arguments = DownloadWebPageArguments

    def __init__(self, web: WebClients) -> None:
        self._web = web

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        values = cast("DownloadWebPageArguments", arguments)
        fetched = await self._web.client(values.url, context).get(values.url)
        if fetched.status != 200:
            raise UnavailableError(f"the page answers with status {fetched.status}")
        page = await asyncio.to_thread(read_page, fetched)
        text = page.text[: context.settings.max_passage_chars]
        if not text:
            return ToolOutput(text="The page has no text.")
        spoken = code3(page.language)
        passage = Passage(
            id=f"web:{fetched.url}#0",
            source=f"web:{fetched.url}",
            text=text,
            title=page.title or fetched.url,
            url=fetched.url,
            language=spoken if spoken != UNKNOWN else guess_language(text),
            end=len(text),
            via=("web",),
        )
        return ToolOutput(passages=(passage,))
