"""The `moderation` section of a pipeline."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from shared.pipelines import Section

#: What happens to private data of one kind: the question is refused, goes on without it, or is left as it is.
Policy = Literal["block", "redact", "off"]
PrivateKind = Literal["email", "phone", "id_number"]

#: Rejection kind -> language -> what the asker reads.
DEFAULT_MESSAGES: dict[str, dict[str, str]] = {
    "too_short": {
        "en": "Please ask your question in a few more words, or try the search instead.",
        "fr": "Veuillez formuler votre question avec quelques mots de plus, ou utilisez la recherche.",
    },
    "pii": {
        "en": "Your question seems to contain personal information. Please ask it again without e-mail addresses, "
        "phone numbers or identification numbers.",
        "fr": "Votre question semble contenir des renseignements personnels. Veuillez la poser de nouveau sans adresse "
        "courriel, numéro de téléphone ni numéro d'identification.",
    },
}


class ModerationSettings(Section):
    """What is let through, and what the asker of the rest is told."""

    short_words: int = Field(
        default=2,
        ge=0,
        description="A question of so many words or fewer is too short, unless an earlier one of the conversation was "
        "longer. 0: any length will do.",
    )
    search_url: str = Field(
        default="",
        description="Where a question that is too short is sent: a URL with `{query}` and, if wanted, `{language}` "
        "(two letters). Empty: `home_url`.",
    )
    home_url: str = Field(default="", description="The page offered when there is no search page. Empty: no link.")
    pii: dict[PrivateKind, Policy] = Field(
        default_factory=dict,
        description="What to do with private data by kind (email, phone, id_number): block, redact or off. "
        "A kind that is not named is blocked.",
    )
    messages: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="Replaces what the asker is told: rejection kind -> language -> text.",
    )
    default_language: str = Field(default="eng", description="The language of messages when the asker's is unknown.")

    @field_validator("search_url")
    @classmethod
    def _takes_a_query(cls, url: str) -> str:
        if url and "{query}" not in url:
            raise ValueError("the search URL needs a {query} to put the question in")
        return url

    def policy(self, kind: PrivateKind) -> Policy:
        return self.pii.get(kind, "block")

    def texts(self, kind: str) -> dict[str, str]:
        """The messages of one rejection kind by language: the pipeline's over the defaults."""
        return self.messages.get(kind) or DEFAULT_MESSAGES.get(kind, {})
