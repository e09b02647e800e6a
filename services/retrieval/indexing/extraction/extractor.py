"""Has a model read a document's passages for entities and relations; where it fails, what the rules found stands."""

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

#: What the model reads of one passage, in characters.
PASSAGE = 8000


class EntityExtractor:
    """Asks the model that plays `fast`; what it found is remembered."""

    def __init__(self, models: Models, memory: ExtractionCache) -> None:
        self._models = models
        self._memory = memory

    def rules(self, settings: RetrievalSettings) -> tuple[str, ...]:
        """What a document's version says of extraction: with another prompt, or one at all, it is indexed anew."""
        return (f"extract-{revision(_system(settings))}",) if self._wanted(settings) else ()

    async def enriched(
        self, graphlet: DocumentGraph, passages: Sequence[Passage], settings: RetrievalSettings
    ) -> DocumentGraph:
        """The graphlet of these passages with what the model finds in them, as far as it comes in the time it has."""
        if not self._wanted(settings):
            return graphlet
        chosen = settings.extraction
        batches = list(_batches(passages, chosen.batch_chars))[: chosen.max_calls]
        found: dict[tuple[str, ...], ExtractionReply] = {}
        slots = asyncio.Semaphore(chosen.concurrency)

        async def read(batch: Sequence[Passage]) -> None:
            async with slots:
                reply = await self._found(batch, _system(settings))
            if reply is not None:
                found[tuple(passage.id for passage in batch)] = reply

        # What does not come in time is cancelled; what did counts, and is remembered for the next time.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(chosen.seconds), asyncio.TaskGroup() as reading:
                for batch in batches:
                    reading.create_task(read(batch))
        ordered = {ids: found[ids] for ids in (tuple(one.id for one in batch) for batch in batches) if ids in found}
        return await asyncio.to_thread(merged, graphlet, ordered)

    def _wanted(self, settings: RetrievalSettings) -> bool:
        return settings.extraction.model and self._models.has("fast")

    async def _found(self, batch: Sequence[Passage], system: str) -> ExtractionReply | None:
        told = "\n".join(
            block("passage", f"{one.title}\n{one.text}", limit=PASSAGE, number=number)
            for number, one in enumerate(batch, start=1)
        )
        # The rules in the system text say the form of the reply: another form is another digest.
        digest = hashlib.sha256(f"{system}\x1f{told}".encode()).digest()
        kept = await self._memory.read(digest)
        if kept is not None:
            return ExtractionReply.model_validate_json(kept)
        try:
            reply = await self._models.invoke("fast", "extract", system, told, ExtractionReply)
        except ModelError:
            return None
        await self._memory.write(digest, reply.model_dump_json())
        return reply


def _system(settings: RetrievalSettings) -> str:
    return assemble(settings.extraction.prompt, settings.project_introduction, RULES)


def _batches(passages: Sequence[Passage], size: int) -> Iterator[list[Passage]]:
    """Passages in order, as many together as fit into `size` characters, one at least."""
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
