"""The role of a search engine."""

from __future__ import annotations

from typing import Protocol

from shared.contracts.domain import Passage


class WebSearch(Protocol):
    """Searches the web. Results are passages of the sources `web:<url>`, best first, `via=("web",)`."""

    async def open(self) -> None:
        """Make ready; nothing is asked yet."""

    async def close(self) -> None: ...

    async def search(self, text: str, *, language: str = "und", limit: int = 5) -> list[Passage]:
        """What the engine finds; its own words about each page are the text. `language` is ISO 639-3.

        Raises:
            UnavailableError: the engine does not answer, or not with results.
        """
