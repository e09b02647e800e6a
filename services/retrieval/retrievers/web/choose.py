"""Which search engine of the web the process settings name, if any."""

from __future__ import annotations

from services.retrieval.retrievers.web.google import GoogleSearch
from services.retrieval.retrievers.web.ports import WebSearch
from services.retrieval.retrievers.web.searxng import SearxngSearch
from shared.contracts.errors import ConfigurationError
from shared.runtime.settings import Settings


def engine_of(settings: Settings) -> WebSearch | None:
    """SearXNG where its address is set, else Google where its engine is, else none. Nothing is asked yet.

    Raises:
        ConfigurationError: an engine of Google without a key.
    """
    if settings.web_search_url:
        return SearxngSearch(settings.web_search_url)
    key = settings.google_search_key.get_secret_value()
    if settings.google_search_engine and not key:
        raise ConfigurationError("ANSWERBUS_GOOGLE_SEARCH_ENGINE needs ANSWERBUS_GOOGLE_SEARCH_KEY: its API key")
    return GoogleSearch(key, settings.google_search_engine) if settings.google_search_engine else None
