"""What becomes of a rating: the sources of the answer move a little, and one that was disliked is not given again.

What is to be forgotten leaves no vote and no question here.
"""

from __future__ import annotations

from services.retrieval.feedback_store import Returning
from services.retrieval.semantic_cache.lookup import CacheLookup
from services.retrieval.settings import RetrievalSettings
from shared.contracts.envelope import Envelope
from shared.contracts.facts import FeedbackGiven, QuestionsForgotten


class Ratings:
    """Hears feedback, and what is to be forgotten, for both."""

    def __init__(self, returning: Returning, similar: CacheLookup) -> None:
        self._returning = returning
        self._similar = similar

    async def hear(self, given: FeedbackGiven, envelope: Envelope, settings: RetrievalSettings) -> None:
        """Count the vote and take a disliked answer out."""
        await self._returning.weigh(given, envelope)
        await self._similar.dispute(given, envelope, settings)

    async def forget(self, forgotten: QuestionsForgotten, envelope: Envelope) -> None:
        """Let go of forgotten questions, and of the votes that were given in their conversations."""
        await self._returning.forget(forgotten, envelope)
        await self._similar.forget(forgotten.questions)
