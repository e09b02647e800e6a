"""What a check reads and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from services.moderation.settings import ModerationSettings
from shared.domain import Finding, Turn
from shared.facts import RejectionKind


@dataclass(frozen=True)
class Look:
    """The tidied text and the earlier turns of the conversation."""

    text: str
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Opinion:
    """One check's word: an objection if the question must not go on, a changed text, what was found."""

    objection: RejectionKind | None = None
    text: str | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The word of all checks: the redacted text, the first objection, every finding."""

    text: str
    objection: RejectionKind | None = None
    findings: tuple[Finding, ...] = ()


Check = Callable[[Look, ModerationSettings], Opinion]

#: Nothing to say.
FINE = Opinion()
