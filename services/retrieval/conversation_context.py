"""A question that goes on with the one before: the passages that were cited there are candidates here too.

They are taken where they still serve: when they hold nearly every word of meaning of the question as it stands by
itself, so that nothing new is asked. They come last, after what the search found, and never in the place of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from services.retrieval.handler import Retriever
from services.retrieval.ports import Shelf
from services.retrieval.rankers.budget import BudgetSettings, within_budget
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.envelope import Envelope
from shared.contracts.errors import AnswerbusError
from shared.contracts.facts import AnswerReused, ClarificationRequested, PassagesRetrieved, QuestionCleared
from shared.contracts.requests.persistence import ConversationRequest
from shared.contracts.requests.request import RequestClient
from shared.observability.telemetry import DEGRADED
from shared.text.analysis import stems

VIA = "context"
#: The share of the question's words of meaning that they hold together, at least.
ENOUGH = 0.8
#: Seconds the record and the index may take: they are a comfort.
SECONDS = 0.5


class Continuing:
    """Retrieves as `Retriever` does, and looks at the turn before: `asker` reaches the record, `shelf` the passages."""

    def __init__(self, retriever: Retriever, asker: RequestClient, shelf: Shelf) -> None:
        self._retriever = retriever
        self._requests = asker
        self._shelf = shelf
        self.retry = retriever.retry
        self.search = retriever.search

    async def retrieve(
        self, cleared: QuestionCleared, envelope: Envelope, settings: RetrievalSettings
    ) -> PassagesRetrieved | ClarificationRequested | AnswerReused:
        """As `Retriever.retrieve`, with the passages of the turn before where they still serve."""
        said = await self._retriever.retrieve(cleared, envelope, settings)
        answered = any(turn.answer for turn in cleared.question.turns)
        if not isinstance(said, PassagesRetrieved) or not answered or not settings.earlier_passages:
            return said
        try:
            async with asyncio.timeout(SECONDS):
                earlier = await self._cited(envelope.conversation_id)
        except (AnswerbusError, TimeoutError):
            DEGRADED.labels("context").inc()
            return said
        asked = said.context.standalone_question or cleared.question.search_text
        return continued(said, asked, cleared.question.language, earlier, settings)

    async def _cited(self, conversation: str) -> list[Passage]:
        """The passages that the last answer of the conversation cites, as they are in the index now."""
        request = ConversationRequest(id=conversation, limit=1)
        reply = await self._requests.ask(request, SECONDS)
        cited = [one.passage for exchange in reply.exchanges for one in exchange.citations]
        ids = [one for one in dict.fromkeys(cited) if one]
        known = {one.id: one for one in await self._shelf.fetch(ids)} if ids else {}
        return [known[one] for one in ids if one in known]


def continued(
    said: PassagesRetrieved, asked: str, language: str, earlier: Sequence[Passage], settings: RetrievalSettings
) -> PassagesRetrieved:
    """With those of the earlier passages that the search did not find, where together they cover what is asked."""
    found = {one.id for one in said.passages}
    fresh = [one for one in earlier if one.id not in found][: settings.earlier_passages]
    wanted = set(stems(asked, language))
    held = {stem for one in earlier for stem in stems(f"{one.title} {one.text}", language)}
    if not fresh or not wanted or len(wanted & held) < ENOUGH * len(wanted):
        return said
    least = min((one.score for one in said.passages), default=0.0)
    added = [one.model_copy(update={"score": least, "via": (VIA,)}) for one in fresh]
    room = BudgetSettings.model_construct(max_passage_chars=settings.max_passage_chars)
    fitting, _ = within_budget([*said.passages, *added], room)
    trace = {**said.context.trace, VIA: f"{len(fitting) - len(said.passages)} passages of the turn before still serve"}
    context = said.context.model_copy(update={"trace": trace})
    return said.model_copy(update={"passages": tuple(fitting), "context": context})
