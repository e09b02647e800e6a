"""Runs retrievers at the same time, each under its own timeout. Failures are reported in the result, not raised."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from services.retrieval.ports import Retriever, RetrieverQuery, RetrieverResult
from services.retrieval.search_trace import milliseconds_since
from shared.contracts.errors import AnswerbusError
from shared.observability import traces


async def run_retrievers(
    retrievers: Sequence[Retriever], query: RetrieverQuery, timeouts: Mapping[str, float]
) -> list[RetrieverResult]:
    """The results in the order of `retrievers`; `timeouts` are in seconds, by the retriever's name."""
    if len(retrievers) == 1:  # one needs no task of its own
        return [await run_retriever(retrievers[0], query, timeouts[retrievers[0].name])]
    return list(
        await asyncio.gather(*(run_retriever(retriever, query, timeouts[retriever.name]) for retriever in retrievers))
    )


async def run_retriever(retriever: Retriever, query: RetrieverQuery, timeout: float) -> RetrieverResult:
    """What the retriever found within `timeout` seconds; a failure or timeout is named in `missing`."""
    with traces.span(f"retriever {retriever.name}", "retriever", {"answerbus.retriever": retriever.name}) as told:
        told.set_texts(input=query.text)
        result = await _run(retriever, query, timeout)
        told.set({"answerbus.results": len(result.hits)})
        told.set_texts(output=", ".join([hit.id for hit in result.hits]))
        if result.missing:
            told.fail("no result")
        return result


async def _run(retriever: Retriever, query: RetrieverQuery, timeout: float) -> RetrieverResult:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(timeout):
            hits = tuple(await retriever.search(query))
    except TimeoutError:
        return RetrieverResult(retriever.name, (), milliseconds_since(began), f"took longer than {timeout:g} s")
    except AnswerbusError as error:
        return RetrieverResult(retriever.name, (), milliseconds_since(began), str(error))
    return RetrieverResult(retriever.name, hits, milliseconds_since(began))
