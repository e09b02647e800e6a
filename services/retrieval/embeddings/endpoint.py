"""Embeddings from an endpoint with OpenAI's `POST /embeddings`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2

from shared.contracts.errors import ConfigurationError, UnavailableError

#: Texts per request: few enough for a model on a CPU to answer within the timeout.
_BATCH = 64
_TIMEOUT = httpx2.Timeout(60, connect=5)
#: Waits between attempts of a request that may succeed later, in seconds.
_WAITS = (0.2, 1.0, 4.0)
_RETRIABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class EndpointEmbedder:
    """Implements `Embedder` over HTTP; `url` is the base (`https://host/v1`) or the full URL of `/embeddings`.

    `waits` are the pauses between attempts, in seconds; `transport` replaces the network in tests.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str = "",
        *,
        waits: Sequence[float] = _WAITS,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = model
        self._url = url if url.rstrip("/").endswith("/embeddings") else f"{url.rstrip('/')}/embeddings"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._waits = tuple(waits)
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def open(self) -> None:
        self._client = httpx2.AsyncClient(headers=self._headers, timeout=_TIMEOUT, transport=self._transport)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for first in range(0, len(texts), _BATCH):
            batch = list(texts[first : first + _BATCH])
            vectors += self._read(await self._ask(batch), len(batch))
        return vectors

    async def _ask(self, batch: list[str]) -> Any:
        """The reply to one batch; retried after a pause while the error may be temporary."""
        reason = ""
        for wait in (*self._waits, None):
            try:
                return await self._post(batch)
            except UnavailableError as error:
                reason = str(error)
            if wait is not None:
                await asyncio.sleep(wait)
        raise UnavailableError(reason)

    async def _post(self, batch: list[str]) -> Any:
        if self._client is None:
            raise UnavailableError("the embeddings client is not open")
        try:
            reply = await self._client.post(self._url, json={"model": self.name, "input": batch})
        except httpx2.InvalidURL as error:
            raise ConfigurationError(f"ANSWERBUS_EMBED_URL: {error}") from None
        except httpx2.HTTPError as error:
            raise UnavailableError(f"the embeddings endpoint is unavailable: {type(error).__name__}") from error
        if reply.status_code in _RETRIABLE:
            raise UnavailableError(f"the embeddings endpoint answered {reply.status_code}")
        if reply.status_code in (401, 403):
            raise ConfigurationError("the embeddings endpoint does not accept ANSWERBUS_EMBED_API_KEY: set a valid key")
        if reply.status_code != httpx2.codes.OK:
            raise ConfigurationError(
                f"the embeddings endpoint answered {reply.status_code}: "
                "check ANSWERBUS_EMBED_URL and ANSWERBUS_EMBED_MODEL"
            )
        try:
            return reply.json()
        except ValueError:
            raise UnavailableError("the embeddings endpoint did not answer with JSON") from None

    @staticmethod
    def _read(reply: Any, expected: int) -> list[list[float]]:
        """The vectors in the order of the request, whatever the order of the reply."""
        try:
            rows = sorted(reply["data"], key=lambda row: int(row["index"]))
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError):
            raise UnavailableError("the embeddings endpoint answered without vectors") from None
        if len(vectors) != expected:
            raise UnavailableError(f"the embeddings endpoint returned {len(vectors)} vectors for {expected} texts")
        return vectors
