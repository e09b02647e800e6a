"""Looks at addresses through the safe client; what was seen is kept for a while, for every worker.

However many questions cite a page at once, it is asked for once. Where nobody answers any more, the network is taken to
be away, and for half a minute nothing is tried.
"""

from __future__ import annotations

import asyncio
import time

import structlog
from pydantic import ValidationError

from services.verifier.ports import Seen
from services.verifier.settings import VerifierSettings
from shared.contracts.errors import RefusedError, UnavailableError
from shared.observability.telemetry import DEGRADED
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue
from shared.web.client import FetchResult, SafeClient
from shared.web.page import read_page
from shared.web.policy import AddressRefusedError, RedirectRefusedError, policy_of

log = structlog.get_logger()

#: Seconds for one address in all, and for each step of it.
SECONDS, STEP_SECONDS = 10.0, 4.0
#: Bytes of a page that are read to see what it says at its top.
PEEKED = 64 * 1024
#: Seconds for which what was seen is kept, where the address does not work.
KEPT = {"gone": 3600.0, "guarded": 3600.0, "unsafe": 3600.0, "unreachable": 60.0}
#: So many failures in a row mean that the network is away, for so many seconds.
FAILURES, AWAY_SECONDS = 5, 30.0
_PAGES = ("", "text/html", "application/xhtml+xml")
_GONE = (404, 410)


class WebUrls:
    """Plays `Urls`; a port of the stage."""

    def __init__(self, settings: Settings, known: KeyValue) -> None:
        self._settings = settings
        self._known = known
        self._clients: dict[tuple[tuple[str, ...], tuple[str, ...]], SafeClient] = {}
        self._looking: dict[str, asyncio.Task[Seen]] = {}
        self._retry_policy = 0
        self._away_until = 0.0

    async def open(self) -> None:
        """Nothing is asked yet."""

    async def close(self) -> None:
        looking = list(self._looking.values())
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    async def look(self, url: str, settings: VerifierSettings) -> Seen:
        client = self._client(settings)
        try:
            client.policy.target(url)
        except AddressRefusedError:
            return Seen(outcome="not_allowed")
        key = f"{settings.url_allow}{settings.url_deny} {url}"
        task = self._looking.get(key)
        if task is None:
            task = asyncio.create_task(self._look(client, url, key, settings.check_ttl_seconds))
            self._looking[key] = task
            task.add_done_callback(lambda _: self._looking.pop(key, None))
        # Another question may wait for it too.
        return await asyncio.shield(task)

    async def _look(self, client: SafeClient, url: str, key: str, ttl: float) -> Seen:
        kept = await self._recall(key)
        if kept is not None:
            return kept
        if time.monotonic() < self._away_until:
            return Seen(outcome="unreachable")
        seen = await _seen(client, url)
        self._retry_policy = self._retry_policy + 1 if seen.outcome == "unreachable" and not seen.code else 0
        if self._retry_policy >= FAILURES:
            self._away_until, self._retry_policy = time.monotonic() + AWAY_SECONDS, 0
        await self._keep(key, seen, min(ttl, KEPT.get(seen.outcome, ttl)))
        return seen

    async def _recall(self, key: str) -> Seen | None:
        try:
            found = await self._known.get(key)
            return Seen.model_validate_json(found) if found else None
        except UnavailableError:
            DEGRADED.labels("urls").inc()
        except ValidationError:
            log.warning("what is known of an address cannot be read; it is looked at again")
        return None

    async def _keep(self, key: str, seen: Seen, ttl: float) -> None:
        try:
            await self._known.put(key, seen.model_dump_json().encode(), ttl=ttl)
        except UnavailableError:
            DEGRADED.labels("urls").inc()

    def _client(self, settings: VerifierSettings) -> SafeClient:
        lists = (settings.url_allow, settings.url_deny)
        if lists not in self._clients:
            only, deny = lists
            policy = policy_of(
                self._settings, only=only, deny=deny, step_seconds=STEP_SECONDS, total_seconds=SECONDS, max_bytes=PEEKED
            )
            self._clients[lists] = SafeClient(policy)
        return self._clients[lists]


async def _seen(client: SafeClient, url: str) -> Seen:
    try:
        async with asyncio.timeout(SECONDS):
            return await _judged(await _answer(client, url))
    except RedirectRefusedError:
        return Seen(outcome="unsafe")
    except AddressRefusedError:
        return Seen(outcome="not_allowed")
    except (RefusedError, UnavailableError, TimeoutError):
        return Seen(outcome="unreachable")


async def _answer(client: SafeClient, url: str) -> FetchResult:
    """The answer to HEAD; to GET where that says too little: it may not be liked, and a page can say that it is not
    there."""
    try:
        answer = await client.head(url)
    except UnavailableError:
        return await client.peek(url, max_bytes=PEEKED)
    if answer.status < 400 and answer.media_type not in _PAGES:
        return answer
    return await client.peek(url, max_bytes=PEEKED)


async def _judged(answer: FetchResult) -> Seen:
    if answer.status in _GONE:
        return Seen(outcome="gone", code=answer.status, final_url=answer.url)
    if answer.status >= 500:
        return Seen(outcome="unreachable", code=answer.status, final_url=answer.url)
    if answer.status >= 300:
        return Seen(outcome="guarded", code=answer.status, final_url=answer.url)
    seen = Seen(outcome="works", code=answer.status, final_url=answer.url)
    if answer.media_type not in _PAGES or not answer.body:
        return seen
    page = await asyncio.to_thread(read_page, answer)
    return seen.model_copy(update={"title": page.title[:300], "heading": page.text.split("\n", 1)[0][:300]})
