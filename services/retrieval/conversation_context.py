"""Follow-up questions: the passages that the previous answer cited are candidates again.

They are added when together they hold nearly every content word of the standalone question, so that nothing new is
asked. They come last, after what the search found, and never replace any of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from services.retrieval.ports import VectorIndex
from services.retrieval.rankers.budget import BudgetSettings, within_budget
from services.retrieval.settings import RetrievalSettings
from shared.contracts.document_access import may_read
from shared.contracts.domain import Passage
from shared.contracts.envelope import Envelope
from shared.contracts.errors import AnswerbusError
from shared.contracts.facts import PassagesRetrieved
from shared.contracts.requests.persistence import ConversationRequest
from shared.contracts.requests.request import RequestClient
from shared.observability.telemetry import DEGRADED
from shared.text.analysis import stems

VIA = "context"
#: The least share of the question's content words that the earlier passages must hold together.
COVERAGE = 0.8
#: Seconds that reading the record and the index may take: the passages are welcome but not needed.
SECONDS = 0.5


class ConversationContext:
    """Adds passages that the previous answer of the conversation cited; `requests` reaches the record of exchanges."""

    def __init__(self, requests: RequestClient, store: VectorIndex) -> None:
        self._requests = requests
        self._store = store

    async def extend(
        self, retrieved: PassagesRetrieved, envelope: Envelope, settings: RetrievalSettings
    ) -> PassagesRetrieved:
        """The passages found and, when they help, those of the asker's previous turn that the asker may read.

        When the record or the index is unavailable the result stays as it is.
        """
        question = retrieved.question
        if not any(turn.answer for turn in question.turns) or not settings.earlier_passages:
            return retrieved
        try:
            async with asyncio.timeout(SECONDS):
                earlier = await self._cited(envelope, question.collections)
        except (AnswerbusError, TimeoutError):
            DEGRADED.labels("context").inc()
            return retrieved
        asked = retrieved.context.standalone_question or question.search_text
        return with_earlier_passages(retrieved, asked, question.language, earlier, settings)

    async def _cited(self, envelope: Envelope, collections: Sequence[str]) -> list[Passage]:
        """The passages that the last answer of the conversation cites, of these collections (empty: of all), as they
        are in the index now."""
        request = ConversationRequest(
            id=envelope.conversation_id, tenant=envelope.tenant, asker=envelope.asker, limit=1
        )
        reply = await self._requests.ask(request, SECONDS)
        cited = [one.passage for exchange in reply.exchanges for one in exchange.citations]
        ids = [one for one in dict.fromkeys(cited) if one]
        known = {one.id: one for one in await self._store.fetch(ids)} if ids else {}
        cited_passages = [known[one] for one in ids if one in known]
        return [one for one in cited_passages if await self._may_be_read(one.source, envelope.groups, collections)]

    async def _may_be_read(self, source: str, groups: Sequence[str], collections: Sequence[str]) -> bool:
        document = await self._store.document(source)
        if document is None or not may_read(document.groups, groups):
            return False
        return not collections or document.collection in collections


def with_earlier_passages(
    retrieved: PassagesRetrieved, asked: str, language: str, earlier: Sequence[Passage], settings: RetrievalSettings
) -> PassagesRetrieved:
    """Adds the earlier passages that the search did not find, when all of them together cover the question `asked`."""
    known = {one.id for one in retrieved.passages}
    fresh = [one for one in earlier if one.id not in known][: settings.earlier_passages]
    needed = set(stems(asked, language))
    held = {stem for one in earlier for stem in stems(f"{one.title} {one.text}", language)}
    if not fresh or not needed or len(needed & held) < COVERAGE * len(needed):
        return retrieved
    least = min((one.score for one in retrieved.passages), default=0.0)
    added = [one.model_copy(update={"score": least, "via": (VIA,)}) for one in fresh]
    room = BudgetSettings.model_construct(max_passage_chars=settings.max_passage_chars)
    fitting, _ = within_budget([*retrieved.passages, *added], room)
    note = f"{len(fitting) - len(retrieved.passages)} passages of the turn before still serve"
    context = retrieved.context.model_copy(update={"trace": {**retrieved.context.trace, VIA: note}})
    return retrieved.model_copy(update={"passages": tuple(fitting), "context": context})
