"""Looks at addresses through the safe client; what was seen is kept for a while, for every worker.

However many questions cite a page at once, it is asked for once. Where nobody answers any more, the network is taken to
be away, and for half a minute nothing is tried.
"""

from __future__ import annotations

import asyncio
import time

import structlog
from pydantic import ValidationError

from services.verifier.ports import UrlObservation
from services.verifier.settings import VerifierSettings
from shared.contracts.errors import RefusedError, UnavailableError
from shared.observability.telemetry import DEGRADED
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue
from shared.web.client import Fetched, SafeClient
from shared.web.page import read_page
from shared.web.policy import AddressLeadsAwayError, AddressRefusedError, policy_of

log = structlog.get_logger()

#: Seconds for one address in all, and for each step of it.
TOTAL_SECONDS, STEP_SECONDS = 10.0, 4.0
#: Bytes of a page that are read to see what it says at its top.
PEEK_BYTES = 64 * 1024
#: Seconds for which what was seen is kept, where the address does not work.
CACHED_SECONDS = {"gone": 3600.0, "guarded": 3600.0, "unsafe": 3600.0, "unreachable": 60.0}
#: So many failures in a row mean that the network is away, for so many seconds.
FAILURES, AWAY_SECONDS = 5, 30.0
_PAGES = ("", "text/html", "application/xhtml+xml")
_GONE = (404, 410)


class WebUrlChecker:
    """Plays `UrlChecker`; a port of the stage."""

    def __init__(self, settings: Settings, store: KeyValue) -> None:
        self._settings = settings
        self._store = store
        self._clients: dict[tuple[tuple[str, ...], tuple[str, ...]], SafeClient] = {}
        self._running: dict[str, asyncio.Task[UrlObservation]] = {}
        self._failures = 0
        self._away_until = 0.0

    async def open(self) -> None:
        """Nothing is asked yet."""

    async def close(self) -> None:
        looking = list(self._running.values())
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    async def check(self, url: str, settings: VerifierSettings) -> UrlObservation:
        client = self._client(settings)
        try:
            client.policy.target(url)
        except AddressRefusedError:
            return UrlObservation(outcome="not_allowed")
        key = f"{settings.url_allow}{settings.url_deny} {url}"
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._check(client, url, key, settings.check_ttl_seconds))
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        # Another question may wait for it too.
        return await asyncio.shield(task)

    async def _check(self, client: SafeClient, url: str, key: str, ttl: float) -> UrlObservation:
        kept = await self._cached(key)
        if kept is not None:
            return kept
        if time.monotonic() < self._away_until:
            return UrlObservation(outcome="unreachable")
        observed = await _observe(client, url)
        self._failures = self._failures + 1 if observed.outcome == "unreachable" and not observed.code else 0
        if self._failures >= FAILURES:
            self._away_until, self._failures = time.monotonic() + AWAY_SECONDS, 0
        await self._cache(key, observed, min(ttl, CACHED_SECONDS.get(observed.outcome, ttl)))
        return observed

    async def _cached(self, key: str) -> UrlObservation | None:
        try:
            found = await self._store.get(key)
            return UrlObservation.model_validate_json(found) if found else None
        except UnavailableError:
            DEGRADED.labels("urls").inc()
        except ValidationError:
            log.warning("what is known of an address cannot be read; it is looked at again")
        return None

    async def _cache(self, key: str, observed: UrlObservation, ttl: float) -> None:
        try:
            await self._store.put(key, observed.model_dump_json().encode(), ttl=ttl)
        except UnavailableError:
            DEGRADED.labels("urls").inc()

    def _client(self, settings: VerifierSettings) -> SafeClient:
        lists = (settings.url_allow, settings.url_deny)
        if lists not in self._clients:
            only, deny = lists
            policy = policy_of(
                self._settings,
                only=only,
                deny=deny,
                step_seconds=STEP_SECONDS,
                total_seconds=TOTAL_SECONDS,
                max_bytes=PEEK_BYTES,
            )
            self._clients[lists] = SafeClient(policy)
        return self._clients[lists]


async def _observe(client: SafeClient, url: str) -> UrlObservation:
    try:
        async with asyncio.timeout(TOTAL_SECONDS):
            return await _observation(await _fetch(client, url))
    except AddressLeadsAwayError:
        return UrlObservation(outcome="unsafe")
    except AddressRefusedError:
        return UrlObservation(outcome="not_allowed")
    except (RefusedError, UnavailableError, TimeoutError):
        return UrlObservation(outcome="unreachable")


async def _fetch(client: SafeClient, url: str) -> Fetched:
    """The answer to HEAD; to GET where that says too little: it may not be liked, and a page can say that it is not
    there."""
    try:
        answer = await client.head(url)
    except UnavailableError:
        return await client.peek(url, max_bytes=PEEK_BYTES)
    if answer.status < 400 and answer.media_type not in _PAGES:
        return answer
    return await client.peek(url, max_bytes=PEEK_BYTES)


async def _observation(answer: Fetched) -> UrlObservation:
    if answer.status in _GONE:
        return UrlObservation(outcome="gone", code=answer.status, final_url=answer.url)
    if answer.status >= 500:
        return UrlObservation(outcome="unreachable", code=answer.status, final_url=answer.url)
    if answer.status >= 300:
        return UrlObservation(outcome="guarded", code=answer.status, final_url=answer.url)
    observed = UrlObservation(outcome="works", code=answer.status, final_url=answer.url)
    if answer.media_type not in _PAGES or not answer.body:
        return observed
    page = await asyncio.to_thread(read_page, answer)
    return observed.model_copy(update={"title": page.title[:300], "heading": page.text.split("\n", 1)[0][:300]})
