"""What a rejected asker is told, in their language, and where they are sent. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from services.moderation.checks.language import seeming
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Link
from shared.text.languages import LANGUAGES, UNKNOWN, code2, code3, localised

#: ISO 639-3 -> the language's own name.
OWN_NAMES = {language.code3: language.own_name for language in LANGUAGES}


def message_for(kind: str, language: str, settings: ModerationSettings) -> str:
    """The message of this kind in the language, else in the default one; empty when the pipeline has none."""
    message = localised(settings.texts(kind), language, settings.default_language)
    answered = ", ".join(OWN_NAMES.get(code, code) for code in settings.languages)
    return message.replace("{languages}", answered)


def region_of(client: Mapping[str, str], hint: str) -> str:
    """ISO 3166 of the asker's region as the client says it (`region`), else of a hint like `fr-CA`; may be empty."""
    said = client.get("region", "").strip()
    if not said:
        said = (
            hint.split(",", 1)[0].split(";", 1)[0].replace("_", "-").strip().rpartition("-")[2]
            if "-" in hint.replace("_", "-")
            else ""
        )
    return said.upper() if len(said) == 2 and said.isalpha() else ""


def language_of(text: str, hint: str, settings: ModerationSettings, listed: str = "") -> str:
    """The asker's language for a message: their hint, else what the text seems to be in, else the default.

    `listed` is the language of a list that knows words of the text: better than the default.
    """
    hinted = code3(hint)
    if hinted != UNKNOWN:
        return hinted
    guessed = seeming(text)
    return guessed if guessed != UNKNOWN else listed or settings.default_language


def search_link(text: str, language: str, settings: ModerationSettings) -> Link | None:
    """The pipeline's search page for this (redacted) text, else its home page, else nothing."""
    if not settings.search_url:
        return Link(url=settings.home_url) if settings.home_url else None
    url = settings.search_url.replace("{language}", code2(language)).replace("{query}", quote(text, safe=""))
    return Link(url=url)
