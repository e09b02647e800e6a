"""Verified answers that may be given again: which ones, and where they are kept."""

from __future__ import annotations

import asyncio
import hashlib

from services.persistence.settings import PersistenceSettings
from shared.contracts.answer_cache import (
    DISPUTED,
    GENERATION,
    KeptAnswer,
    generation_of,
    is_about,
    is_disputed,
    place_of,
    written,
)
from shared.contracts.domain import Lane, Reusable
from shared.contracts.envelope import Envelope
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerVerified, Fact
from shared.observability import telemetry
from shared.stores.ports import KeyValue
from shared.text.languages import UNKNOWN

_DAY = 86_400.0
#: Seconds the store may take; a repeat that is slow again costs less than a record that waits.
SECONDS = 2.0


class AnswerShelf:
    """Keeps answers under their question's `reuse_key`; does nothing while the store is away."""

    def __init__(self, answers: KeyValue) -> None:
        self._answers = answers

    async def keep(self, ending: Fact, envelope: Envelope, settings: PersistenceSettings) -> None:
        """Keep the answer if it may be given again, unless somebody disliked it or the index has changed since."""
        kept = keepable(ending, envelope, settings)
        if kept is None:
            return
        place, generation = place_of(envelope.reuse_key), generation_of(envelope.reuse_key)
        value = written(kept.model_dump_json().encode(), generation)

        def unless_disputed(stored: bytes | None) -> bytes:
            return stored if stored is not None and is_disputed(stored, generation) else value

        try:
            async with asyncio.timeout(SECONDS):
                # Of an earlier generation it would only be in the way of what is known in this one.
                if await self._answers.get(GENERATION) == generation:
                    await self._answers.update(place, unless_disputed, ttl=settings.reuse_days * _DAY)
        except (UnavailableError, TimeoutError):
            telemetry.DEGRADED.labels("answers").inc()

    async def dispute(self, envelope: Envelope, settings: PersistenceSettings) -> None:
        """Give the answer to nobody again, nor another one to this question until something changes.

        Raises:
            UnavailableError: the store is away, and the answer may still be there.
        """
        key = envelope.reuse_key
        if key:
            mark = written(DISPUTED, generation_of(key))
            await self._answers.put(place_of(key), mark, ttl=settings.reuse_days * _DAY)


def keepable(ending: Fact, envelope: Envelope, settings: PersistenceSettings) -> KeptAnswer | None:
    """What to keep of an ending: only an answer in plain text that was verified, is sure, and is nobody's own.

    Not what a tool or a page of the web said, which changes unseen; and nothing about a question that moderation took
    something out of: its key is of another text.
    """
    if not isinstance(ending, AnswerVerified) or not envelope.reuse_key or envelope.lane is not Lane.LIVE:
        return None
    answer = ending.answer
    plain = answer.type == "normal" and answer.payload is None and not ending.tool_calls
    sure = not ending.best_effort and ending.confidence >= settings.reuse_confidence
    lasting = bool(ending.citations) and not any(one.source.startswith("web:") for one in ending.citations)
    if not (plain and sure and lasting and is_about(envelope.reuse_key, ending.question.text)):
        return None
    return KeptAnswer(
        question=ending.question.model_copy(update={"turns": ()}),
        answer=answer,
        citations=ending.citations,
        followups=ending.followups,
        confidence=ending.confidence,
        engine=ending.engine,
        origin=envelope.correlation_id,
    )


def reusable_of(ending: Fact, envelope: Envelope, settings: PersistenceSettings) -> Reusable | None:
    """How others recognise the question, where the answer may be given again and needs no conversation before it."""
    kept = keepable(ending, envelope, settings)
    if kept is None or not isinstance(ending, AnswerVerified) or ending.question.turns:
        return None
    if kept.question.language == UNKNOWN:
        return None
    return Reusable(
        question=kept.question.text,
        language=kept.question.language,
        answer=hashlib.sha256(kept.answer.content.encode()).hexdigest()[:32],
        sources=tuple(dict.fromkeys(one.source for one in kept.citations)),
    )
