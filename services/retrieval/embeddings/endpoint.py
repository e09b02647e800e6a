"""Vectors from an endpoint that speaks OpenAI's `POST /embeddings`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx

from shared.contracts.errors import ConfigurationError, UnavailableError

#: Texts of one request: small enough to be answered within the timeout by a model on a processor.
_BATCH = 64
_TIMEOUT = httpx.Timeout(60, connect=5)
#: Waits between tries of a request that may succeed later, in seconds.
_WAITS = (0.2, 1.0, 4.0)
_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class EndpointEmbedder:
    """Plays `Embedder` over HTTP; `url` is the base (`https://host/v1`) or the whole address of `/embeddings`.

    `waits` are the pauses between tries, in seconds; `transport` replaces the network.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str = "",
        *,
        waits: Sequence[float] = _WAITS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = model
        self._url = url if url.rstrip("/").endswith("/embeddings") else f"{url.rstrip('/')}/embeddings"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._waits = tuple(waits)
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def open(self) -> None:
        self._client = httpx.AsyncClient(headers=self._headers, timeout=_TIMEOUT, transport=self._transport)

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
        """The reply to one batch; asked again after a pause while the endpoint says that this may help."""
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
        except httpx.InvalidURL as error:
            raise ConfigurationError(f"ANSWERBUS_EMBED_URL: {error}") from None
        except httpx.HTTPError as error:
            raise UnavailableError(f"the embeddings endpoint is away: {type(error).__name__}") from error
        if reply.status_code in _LATER:
            raise UnavailableError(f"the embeddings endpoint answered {reply.status_code}")
        if reply.status_code in (401, 403):
            raise ConfigurationError("the embeddings endpoint does not accept ANSWERBUS_EMBED_API_KEY")
        if reply.status_code != httpx.codes.OK:
            raise ConfigurationError(
                f"the embeddings endpoint answered {reply.status_code}: look at ANSWERBUS_EMBED_URL and _MODEL"
            )
        try:
            return reply.json()
        except ValueError:
            raise UnavailableError("the embeddings endpoint answered something that is not JSON") from None

    @staticmethod
    def _read(reply: Any, wanted: int) -> list[list[float]]:
        """The vectors in the order asked for, whatever the order of the reply."""
        try:
            rows = sorted(reply["data"], key=lambda row: int(row["index"]))
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError):
            raise UnavailableError("the embeddings endpoint answered without vectors") from None
        if len(vectors) != wanted:
            raise UnavailableError(f"the embeddings endpoint gave {len(vectors)} vectors for {wanted} texts")
        return vectors
