"""What a rejected asker is told, in their language, and where they are sent. Pure."""

from __future__ import annotations

from urllib.parse import quote

from services.moderation.settings import ModerationSettings
from shared.domain import Link
from shared.languages import UNKNOWN, code2, code3, localised
from shared.text import guess_language


def message_for(kind: str, language: str, settings: ModerationSettings) -> str:
    """The message of this rejection kind; empty when the pipeline has none."""
    return localised(settings.texts(kind), language, settings.default_language)


def language_of(text: str, hint: str, settings: ModerationSettings) -> str:
    """The asker's language for a message: their hint, else the function words of the text, else the default."""
    hinted = code3(hint)
    if hinted != UNKNOWN:
        return hinted
    guessed = guess_language(text)
    return guessed if guessed != UNKNOWN else settings.default_language


def search_link(text: str, language: str, settings: ModerationSettings) -> Link | None:
    """The pipeline's search page for this (redacted) text, else its home page, else nothing."""
    if not settings.search_url:
        return Link(url=settings.home_url) if settings.home_url else None
    url = settings.search_url.replace("{language}", code2(language)).replace("{query}", quote(text, safe=""))
    return Link(url=url)
