"""Passages from web search engines, for questions the documents do not answer. Off unless an engine is configured."""

from __future__ import annotations

from services.retrieval.retrievers.web.engines import SearchEngines
from services.retrieval.retrievers.web.ports import WebSearch
from services.retrieval.retrievers.web.settings import SearchEngineSettings, read_engines
from shared.contracts.errors import ConfigurationError
from shared.runtime.settings import Settings


def create_web_search(settings: Settings) -> SearchEngines | None:
    """The engines of `search_engines`, then `searxng` and `google` where their settings name one, or None.

    Sends no request yet.

    Raises:
        ConfigurationError: an invalid engine, or a Google engine without a key.
    """
    engines = {engine.name: _create(engine) for engine in read_engines(settings.search_engines.get_secret_value())}
    if settings.web_search_url:
        own = SearchEngineSettings(name="searxng", kind="searxng", url=settings.web_search_url)
        engines.setdefault(own.name, _create(own))
    if settings.google_search_engine:
        key = settings.google_search_key
        if not key.get_secret_value():
            raise ConfigurationError("ANSWERBUS_GOOGLE_SEARCH_ENGINE needs ANSWERBUS_GOOGLE_SEARCH_KEY: its API key")
        own = SearchEngineSettings(name="google", kind="google", engine=settings.google_search_engine, key=key)
        engines.setdefault(own.name, _create(own))
    return SearchEngines(engines) if engines else None


def _create(engine: SearchEngineSettings) -> WebSearch:
    if engine.kind == "searxng":
        from services.retrieval.retrievers.web.searxng import SearxngSearch

        return SearxngSearch(engine.url)
    if engine.kind == "google":
        from services.retrieval.retrievers.web.google import GoogleSearch

        return GoogleSearch(engine.secret, engine.engine)
    from services.retrieval.retrievers.web.json_engine import JsonSearch

    return JsonSearch(engine.name, engine.url, key=engine.secret, results=engine.results, fields=engine.result_fields)
