"""`check_url_status`: whether an address can be given to the asker."""

from __future__ import annotations

from typing import cast

from pydantic import Field

from services.answer.tools.ports import Arguments, Found, Scene
from services.answer.tools.web_clients import Web


class CheckUrlStatusArguments(Arguments):
    url: str = Field(min_length=8, max_length=2000, description="The address, beginning with https:// or http://.")


class CheckUrlStatus:
    """Plays `AgentTool`."""

    name = "check_url_status"
    description = "Check whether a web address works before you give it to anybody."
    arguments = CheckUrlStatusArguments

    def __init__(self, web: Web) -> None:
        self._web = web

    async def run(self, arguments: Arguments, scene: Scene) -> Found:
        wanted = cast("CheckUrlStatusArguments", arguments)
        answer = await self._web.client(scene.settings).status(wanted.url)
        moved = f", now at {answer.url}" if answer.url != wanted.url else ""
        return Found(
            text=f"{'It works' if answer.status < 400 else 'It does not work'}: status {answer.status}{moved}."
        )
