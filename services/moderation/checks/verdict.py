"""What a check reads and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from services.moderation.lexicon import Hit, Lexicon
from services.moderation.private.span import Span
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding, Turn
from shared.contracts.facts import RejectionKind
from shared.text.analysis import guess_language
from shared.text.languages import UNKNOWN, code3


@dataclass(frozen=True)
class Look:
    """The tidied text, the earlier turns of the conversation, what language the asker said they write in.

    `private` is what another engine found in this very text; the built-in patterns look for themselves.
    """

    text: str
    turns: tuple[Turn, ...] = ()
    hint: str = ""
    private: tuple[Span, ...] = ()

    @cached_property
    def language(self) -> str:
        """The language the text seems to be in, else the hint's; `und` when neither says."""
        guessed = guess_language(self.text)
        return guessed if guessed != UNKNOWN else code3(self.hint)

    def listed_language(self, settings: ModerationSettings) -> str:
        """The language of the first list that has something in the text; empty when none does."""
        return next((hit.language for hit in self.hits(settings.lexicon) if hit.language), "")

    def hits(self, lexicon: Lexicon) -> tuple[Hit, ...]:
        """What of the lexicon stands in the text; looked for once."""
        found = self.__dict__.get("_hits")
        if found is None or found[0] is not lexicon:
            found = (lexicon, lexicon.find(self.text, lambda: self.language))
            self.__dict__["_hits"] = found
        return found[1]


@dataclass(frozen=True)
class Opinion:
    """One check's word: an objection if the question must not go on, a changed text, what was found.

    `message` names the words for the asker where they are not those of the objection.
    """

    objection: RejectionKind | None = None
    text: str | None = None
    findings: tuple[Finding, ...] = ()
    message: str = ""


@dataclass(frozen=True)
class Verdict:
    """The word of all checks: the redacted text, the gravest objection, every finding."""

    text: str
    objection: RejectionKind | None = None
    findings: tuple[Finding, ...] = ()
    message: str = ""


Check = Callable[[Look, ModerationSettings], Opinion]

#: Nothing to say.
FINE = Opinion()
