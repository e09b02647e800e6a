"""Reads, removes and embeds indexed documents through the gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from cli.client import GatewayClient
from cli.operations.progress import ProgressBar
from shared.contracts.errors import RefusedError

#: Documents per request.
REMOVED_AT_ONCE, EMBEDDED_AT_ONCE = 100, 10
#: How often a change of the model is tried while documents arrive.
EXCHANGE_ATTEMPTS = 3


async def registered(
    client: GatewayClient, collection: str = "", *, public: bool = False
) -> AsyncIterator[dict[str, Any]]:
    """The indexed documents of this collection (empty: of all), by id; with `public` those that everybody may read."""
    wanted = {"collection": collection, **({"public": "true"} if public else {})}
    after = ""
    while True:
        page = await client.call("GET", "/api/v1/documents", params={**wanted, "after": after})
        for document in page["documents"]:
            yield document
        after = page["after"]
        if not after:
            return


async def with_passages(client: GatewayClient, source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A document and all its passages, in order.

    Raises:
        NotFoundError: it is not indexed.
    """
    passages: list[dict[str, Any]] = []
    after = 0
    while True:
        parameters = {"source": source, "after": after}
        page = await client.call("GET", "/api/v1/documents/passages", params=parameters)
        passages += page["passages"]
        after = page["after"]
        if not after:
            return page["document"], passages


async def remove_documents(client: GatewayClient, sources: Sequence[str]) -> list[str]:
    """Remove the documents; returns those that were indexed.

    Raises:
        NotFoundError: none was.
    """
    removed: list[str] = []
    for start in range(0, len(sources), REMOVED_AT_ONCE):
        batch = list(sources[start : start + REMOVED_AT_ONCE])
        reply = await client.call("DELETE", "/api/v1/documents", params={"source": batch})
        removed += reply["removed"]
    return removed


async def embed_documents(
    client: GatewayClient, collection: str, *, quiet: bool, share: float = 1.0
) -> tuple[int, int]:
    """Embed the documents that lack vectors of a model that the index keeps; returns how many, and how many there are.

    `share` is that of the time which embedding may take: the rest is left to live questions. What is embedded stays
    when this is interrupted.
    """
    sources = [one["source"] async for one in registered(client, collection)]
    embedded = 0
    progress = ProgressBar("documents", quiet=quiet, total=len(sources))
    try:
        for start in range(0, len(sources), EMBEDDED_AT_ONCE):
            batch = sources[start : start + EMBEDDED_AT_ONCE]
            began = time.monotonic()
            reply = await client.call("POST", "/api/v1/documents/embed", json={"sources": batch})
            embedded += len(reply["embedded"])
            progress.advance(len(batch))
            if reply["embedded"]:
                await asyncio.sleep((time.monotonic() - began) * (1 / share - 1))
    finally:
        progress.close()
    return embedded, len(sources)


async def reindex_step(client: GatewayClient, step: str, model: str = "") -> dict[str, Any]:
    """Do one step of a change of the embeddings model; returns how things stand after it.

    Raises:
        RefusedError: the step is not possible now.
    """
    body = {"step": step, "model": model}
    reply: dict[str, Any] = await client.call("POST", "/api/v1/documents/reindex", json=body)
    return reply


async def reindex_status(client: GatewayClient) -> dict[str, Any]:
    """Which model is in use, which beside it, and how many passages have vectors of each."""
    reply: dict[str, Any] = await client.call("GET", "/api/v1/documents/reindex")
    return reply


async def change_model(
    client: GatewayClient,
    step: str,
    *,
    model: str = "",
    collection: str = "",
    share: float,
    quiet: bool,
    confirmed: Callable[[str], bool],
) -> dict[str, Any] | None:
    """What `answerbus documents reindex` does: `step` is `switch`, `back`, `finish`, `status` or empty.

    Returns how things stand, with the documents that were `embedded` where some could be; None when deleting was not
    `confirmed`.

    Raises:
        AnswerbusError: the step is not possible.
    """
    if step == "finish":
        dropped = (await reindex_status(client))["beside"]
        if not dropped:
            raise RefusedError("the index keeps vectors of one model only: there is nothing to finish")
        return await reindex_step(client, step) if confirmed(dropped) else None
    if model:
        await reindex_step(client, "begin", model)
    done: dict[str, Any] = {}
    if step != "status":
        embedded, total = await embed_documents(client, collection, quiet=quiet, share=share)
        done = {"embedded_documents": embedded, "unchanged_documents": total - embedded}
    if step in ("switch", "back"):
        await _exchange(client, step, share=share)
    return {**await reindex_status(client), **done}


async def _exchange(client: GatewayClient, step: str, *, share: float) -> None:
    """Have the vectors beside used, once every document has them; those of the last moment get theirs afterwards."""
    for attempt in range(EXCHANGE_ATTEMPTS):
        try:
            await reindex_step(client, step)
            break
        except RefusedError:  # a document may have arrived after it was looked at
            embedded, _ = await embed_documents(client, "", quiet=True, share=share)
            if not embedded or attempt == EXCHANGE_ATTEMPTS - 1:
                raise
    await embed_documents(client, "", quiet=True, share=share)
