"""Exact repeats: a question asked again gets the answer that was verified before, without being answered anew."""

from __future__ import annotations

from collections.abc import Sequence

from services.gateway.asking.new_question import NewQuestion
from shared.contracts.answer_cache import (
    KeptAnswer,
    generation_key,
    in_generation,
    is_disputed,
    place_of,
    read_kept,
    reuse_key,
)
from shared.contracts.domain import PipelineRef, Turn
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerReused
from shared.contracts.requests.persistence import KeptAnswerRequest
from shared.contracts.requests.request import RequestClient
from shared.observability import telemetry
from shared.stores.ports import KeyValue

#: Seconds to wait for the record; then the question is answered anew.
RECORD_SECONDS = 1.0


class AnswerCacheReader:
    """Reads the answers that persistence keeps: in the key-value store and, if that is wanted, in the record.

    If a store is unavailable, repeated questions are slower but still answered.
    """

    def __init__(self, answers: KeyValue, requests: RequestClient) -> None:
        self._answers = answers
        self._requests = requests

    async def look_up(
        self,
        question: NewQuestion,
        pipeline: PipelineRef,
        turns: Sequence[Turn],
        *,
        referring_url: str,
        in_record: bool,
    ) -> tuple[str, AnswerReused | None]:
        """The question's reuse key (empty: its answer cannot be cached), and the cached answer or None.

        `referring_url` is the page of the question where the pipeline makes use of it. With `in_record`, the record is
        asked for what the key-value store does not have.
        """
        tenant = question.asker.tenant
        ungenerated = reuse_key(
            question.text,
            tenant=tenant,
            pipeline=pipeline,
            language=question.language,
            turns=turns,
            generation=b"",
            collections=question.collections,
            groups=question.asker.groups,
            referring_url=referring_url,
        )
        place = place_of(ungenerated)
        try:
            generation, stored = await self._answers.get_many((generation_key(tenant), place))
        except UnavailableError:
            telemetry.DEGRADED.labels("answers").inc()
            return "", None
        if not generation:
            return "", None  # retrieval has not announced an index yet
        key, kept = in_generation(place, generation), read_kept(stored, generation)
        found = "hit"
        if kept is None and in_record and not is_disputed(stored, generation):
            kept, found = await self._from_record(key, tenant), "record"
        telemetry.ANSWER_CACHE.labels(found if kept else "miss").inc()
        return key, _reused(kept, question.digest) if kept else None

    async def _from_record(self, key: str, tenant: str) -> KeptAnswer | None:
        try:
            return (await self._requests.ask(KeptAnswerRequest(tenant=tenant, key=key), RECORD_SECONDS)).kept
        except UnavailableError:
            telemetry.DEGRADED.labels("record").inc()
            return None


def _reused(kept: KeptAnswer, digest: str) -> AnswerReused:
    """The ending of a question that gets this answer; `digest` is that of the request."""
    return AnswerReused(
        question=kept.question,
        answer=kept.answer,
        citations=kept.citations,
        origin=kept.origin,
        confidence=kept.confidence,
        followups=kept.followups,
        engine=kept.engine,
        request_digest=digest,
        context=kept.context,
        signature=kept.signature,
    )
