"""What the verifier asks of the web."""

from __future__ import annotations

from typing import Literal, Protocol

from services.verifier.settings import VerifierSettings
from shared.domain import Value


class Seen(Value):
    """What was seen of an address: the words of `UrlStep.outcome`, and what a page says at its top."""

    outcome: Literal["works", "gone", "guarded", "unreachable", "not_allowed", "unsafe"]
    code: int = 0
    final_url: str = ""
    title: str = ""
    heading: str = ""


class Urls(Protocol):
    """Looks at addresses, safely and not more often than needed."""

    async def look(self, url: str, settings: VerifierSettings) -> Seen:
        """What is there. Never raises; takes ten seconds at most."""
