"""What the verifier asks of the web."""

from __future__ import annotations

from typing import Literal, Protocol

from services.verifier.settings import VerifierSettings
from shared.contracts.domain import Value
from shared.contracts.envelope import Envelope


class UrlObservation(Value):
    """What was seen of an address: the words of `UrlStep.outcome`, and what a page says at its top."""

    outcome: Literal["works", "gone", "guarded", "unreachable", "not_allowed", "unsafe"]
    code: int = 0
    final_url: str = ""
    title: str = ""
    heading: str = ""


class UrlChecker(Protocol):
    """Looks at addresses, safely and not more often than needed."""

    async def check(self, url: str, settings: VerifierSettings) -> UrlObservation:
        """What is there. Never raises; takes ten seconds at most."""


class Guardrails(Protocol):
    """Judges an answer by the output flows of the pipeline's guardrails."""

    async def stop(self, question: str, answer: str, envelope: Envelope, settings: VerifierSettings) -> bool:
        """Whether the answer may not be given. Never raises; has `guardrails_seconds`, or a third of the time left."""
