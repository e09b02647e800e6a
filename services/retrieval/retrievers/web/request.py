"""One request to a search engine, answered with JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from shared.contracts.errors import RefusedError, UnavailableError
from shared.web.client import SafeClient
from shared.web.policy import Policy

_MAX_BYTES = 2 * 2**20


def client_of(url: str, seconds: float) -> SafeClient:
    """A client for this engine alone, which may lie inside one's own network, because the operator named it."""
    host = urlsplit(url).hostname or ""
    limits = Policy(allow=(host,), inside=(host,), step_seconds=seconds, total_seconds=seconds, max_redirects=2)
    return SafeClient(limits)


async def request_json(client: SafeClient, engine: str, url: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object that the engine answered.

    Raises:
        UnavailableError: no answer, or no JSON object; the message contains neither the question nor the key.
    """
    return await request_url(client, engine, f"{url}?{urlencode(parameters)}")


async def request_url(
    client: SafeClient, engine: str, url: str, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The same of an address with its parameters; `headers` are sent with it.

    Raises:
        UnavailableError: as `request_json`.
    """
    more: dict[str, Any] = {"headers": headers} if headers else {}
    try:
        page = await client.get(url, max_bytes=_MAX_BYTES, **more)
    except RefusedError as error:
        raise UnavailableError(f"{engine}: {error}") from None
    if page.status != 200:
        raise UnavailableError(f"{engine} answered {page.status}")
    try:
        answer = json.loads(page.body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise UnavailableError(f"{engine} answered something that is not a JSON object")
    return answer
