"""Exact repeats: a question asked again gets the answer that was verified before, without involving a stage."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.answer_cache import generation_key, in_generation, place_of, read_kept, reuse_key
from shared.contracts.domain import PipelineRef, Turn
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerReused
from shared.observability import telemetry
from shared.stores.ports import KeyValue


class AnswerCacheReader:
    """Reads the answers that persistence keeps.

    If the store is unavailable, repeated questions are slower but still answered.
    """

    def __init__(self, answers: KeyValue) -> None:
        self._answers = answers

    async def look_up(
        self,
        tenant: str,
        text: str,
        pipeline: PipelineRef,
        language: str,
        turns: Sequence[Turn],
        digest: str,
        collections: Sequence[str] = (),
        groups: Sequence[str] = (),
        referring_url: str = "",
    ) -> tuple[str, AnswerReused | None]:
        """The question's reuse key (empty: its answer cannot be cached), and the cached answer or None."""
        key = reuse_key(
            text,
            tenant=tenant,
            pipeline=pipeline,
            language=language,
            turns=turns,
            generation=b"",
            collections=collections,
            groups=groups,
            referring_url=referring_url,
        )
        place = place_of(key)
        try:
            generation, stored = await self._answers.get_many((generation_key(tenant), place))
        except UnavailableError:
            telemetry.DEGRADED.labels("answers").inc()
            return "", None
        if not generation:
            return "", None  # retrieval has not announced an index yet
        key, kept = in_generation(place, generation), read_kept(stored, generation)
        telemetry.ANSWER_CACHE.labels("hit" if kept else "miss").inc()
        if kept is None:
            return key, None
        reused = AnswerReused(
            question=kept.question,
            answer=kept.answer,
            citations=kept.citations,
            origin=kept.origin,
            confidence=kept.confidence,
            followups=kept.followups,
            engine=kept.engine,
            request_digest=digest,
            context=kept.context,
        )
        return key, reused
