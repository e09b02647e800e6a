"""Extracts entities and relations from a document with a model; if it fails, the result of the rules remains."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Iterator, Sequence

from services.retrieval.graph.ports import DocumentGraph
from services.retrieval.indexing.extraction.cache import ExtractionCache
from services.retrieval.indexing.extraction.entities import ExtractionReply, merged
from services.retrieval.indexing.extraction.prompts import RULES
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import ModelError
from shared.llm.ports import Models
from shared.llm.prompt_blocks import block
from shared.llm.prompts import assemble, revision

#: How much of one passage the model reads, in characters.
PASSAGE = 8000
#: Characters of passages per model call.
BATCH_CHARS = 3000
#: Per document: the most model calls (the rest is left to the rules), those at a time, and their time limit in seconds.
MAX_CALLS = 100
_CONCURRENCY = 4
_SECONDS = 300.0


class EntityExtractor:
    """Calls the model in the role `fast`; replies are cached."""

    def __init__(self, models: Models, cache: ExtractionCache) -> None:
        self._models = models
        self._cache = cache

    def rules(self, settings: RetrievalSettings) -> tuple[str, ...]:
        """The part of a document's version that depends on extraction, so that another prompt re-indexes it."""
        return (f"extract-{revision(_system(settings))}",) if self._enabled(settings) else ()

    async def enriched(
        self, document_graph: DocumentGraph, passages: Sequence[Passage], settings: RetrievalSettings
    ) -> DocumentGraph:
        """The graph of these passages with what the model extracts within the time limit."""
        if not self._enabled(settings):
            return document_graph
        batches = list(_batches(passages, BATCH_CHARS))[:MAX_CALLS]
        replies: dict[tuple[str, ...], ExtractionReply] = {}
        slots = asyncio.Semaphore(_CONCURRENCY)

        async def read(batch: Sequence[Passage]) -> None:
            async with slots:
                reply = await self._extract(batch, _system(settings))
            if reply is not None:
                replies[tuple(passage.id for passage in batch)] = reply

        # Late calls are cancelled; replies in time are used, and cached for the next attempt.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS), asyncio.TaskGroup() as tasks:
                for batch in batches:
                    tasks.create_task(read(batch))
        ordered = {
            ids: replies[ids] for ids in (tuple(passage.id for passage in batch) for batch in batches) if ids in replies
        }
        return await asyncio.to_thread(merged, document_graph, ordered)

    def _enabled(self, settings: RetrievalSettings) -> bool:
        return settings.extraction.model and self._models.has("fast")

    async def _extract(self, batch: Sequence[Passage], system: str) -> ExtractionReply | None:
        blocks = "\n".join(
            block("passage", f"{passage.title}\n{passage.text}", limit=PASSAGE, number=number)
            for number, passage in enumerate(batch, start=1)
        )
        # The system prompt includes the format of the reply, so that another format is another digest.
        digest = hashlib.sha256(f"{system}\x1f{blocks}".encode()).digest()
        cached = await self._cache.read(digest)
        if cached is not None:
            return ExtractionReply.model_validate_json(cached)
        try:
            reply = await self._models.invoke("fast", "extract", system, blocks, ExtractionReply)
        except ModelError:
            return None
        await self._cache.write(digest, reply.model_dump_json())
        return reply


def _system(settings: RetrievalSettings) -> str:
    return assemble(settings.extraction.prompt, settings.project_introduction, RULES)


def _batches(passages: Sequence[Passage], size: int) -> Iterator[list[Passage]]:
    """Batches of passages in order, of up to `size` characters, with at least one passage each."""
    batch: list[Passage] = []
    room = size
    for passage in passages:
        if batch and len(passage.text) > room:
            yield batch
            batch, room = [], size
        batch.append(passage)
        room -= len(passage.text)
    if batch:
        yield batch
