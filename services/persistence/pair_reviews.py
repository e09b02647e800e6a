"""Replies about reviews: which pair an expert sees next, in which order, and what experts prefer.

A review has ids only; questions and answers are read from the record whenever they are shown, so that what is erased
there is gone from here. Which answer stands first is drawn from the review's secret for each pair and expert: no
process needs to remember it, and nothing that leaves persistence tells it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, get_args

from services.persistence.ports import PairFeatures, StoredJudgement, StoredReview
from shared.contracts.envelope import new_correlation_id
from shared.contracts.errors import RefusedError
from shared.contracts.experiments import SegmentName
from shared.contracts.requests.reviews import (
    MOST_PAIRS,
    BlindPair,
    ExpertRequest,
    JudgedReply,
    JudgePairRequest,
    NextPairReply,
    NextPairRequest,
    PlaceChoice,
    RemovedReply,
    RemoveReviewRequest,
    ReviewComment,
    ReviewPair,
    ReviewPreference,
    ReviewResult,
    ReviewResultReply,
    ReviewResultRequest,
    ReviewsReply,
    ReviewsRequest,
    ReviewState,
    SegmentPreference,
    SendReviewRequest,
    SentReview,
    SideChoice,
)
from shared.operations.confidence_sequence import LEAST
from shared.operations.expert_preferences import agreement, by_expert, together
from shared.text.excerpts import clipped

#: Reviews in a list, comments in a result, and characters of an answer that an expert sees.
MOST_REVIEWS, MOST_COMMENTS, ANSWER_CHARS = 100, 200, 20_000


class ReviewStore(Protocol):
    """Stores reviews. Every method raises `UnavailableError` if the database is unavailable.

    A `tenant` that is empty means all.
    """

    async def reviews(self, tenant: str, limit: int) -> Sequence[StoredReview]:
        """Newest first."""

    async def review(self, review_id: str, tenant: str) -> StoredReview | None: ...

    async def answers(self, ids: Sequence[str], tenant: str) -> dict[str, str]:
        """The answers of those questions that are on record, by id."""

    async def keep(self, review: StoredReview, pairs: Sequence[ReviewPair]) -> StoredReview:
        """Add the pairs to the review of this tenant and name, which is this one if there is none; returns it."""

    async def pairs(self, review_id: str) -> Sequence[PairFeatures]:
        """The pairs of which both answers are on record, in their order."""

    async def sources(self, review_id: str) -> dict[str, tuple[str, ...]]:
        """The sources that the live answers cite, by the live question's id."""

    async def texts(self, review_id: str, number: int) -> dict[str, str] | None:
        """`question`, `language`, `live` and `shadow` of a pair."""

    async def judgements(self, review_id: str, expert: str = "") -> Sequence[StoredJudgement]:
        """What experts (or one of them) have said, oldest first."""

    async def judge(self, judgement: StoredJudgement) -> bool:
        """Keep it in place of an earlier one; False if the pair is gone."""

    async def remove(self, review_id: str) -> None:
        """Delete the review with its pairs and judgements."""


class PairReviews:
    """Replies from the store; raises `UnavailableError` if it is unavailable."""

    def __init__(self, store: ReviewStore) -> None:
        self._store = store

    async def send(self, request: SendReviewRequest) -> SentReview:
        """Put pairs before the experts.

        Raises:
            RefusedError: none of them can be compared, or the review has too many then.
        """
        ids = list({id_ for one in request.pairs for id_ in (one.live, one.shadow)})
        texts = await self._store.answers(ids, request.tenant)  # not those of others that the operator may see
        known = [one for one in request.pairs if one.live in texts and one.shadow in texts]
        fitting = [one for one in known if texts[one.live].strip() != texts[one.shadow].strip()]
        equal, missing = len(known) - len(fitting), len(request.pairs) - len(known)
        if not fitting:
            raise RefusedError(f"pairs: none to compare; {equal} have equal answers, {missing} are not on record")
        same = request.model_dump(include={"tenant", "name", "title", "live", "candidate", "by"})
        new = StoredReview(**same, id=new_correlation_id(), secret=secrets.token_hex(32), at=datetime.now(UTC))
        review = await self._store.keep(new, ())
        if (review.live, review.candidate) != (request.live, request.candidate):
            raise RefusedError(
                f"name: the review {review.name} compares {review.candidate} with {review.live}; send another"
            )
        there = {one.exchange_id for one in await self._store.pairs(review.id)}
        fresh = [one for one in fitting if one.live not in there]
        if len(there) + len(fresh) > MOST_PAIRS:
            raise RefusedError(f"pairs: a review has at most {MOST_PAIRS}; this one has {len(there)}")
        await self._store.keep(review, fresh)
        return SentReview(
            id=review.id,
            name=review.name,
            title=review.title,
            pairs=len(there) + len(fresh),
            equal=equal,
            missing=missing,
        )

    async def reviews(self, request: ReviewsRequest) -> ReviewsReply:
        """The reviews of which the expert may see a pair."""
        found = await self._store.reviews(request.reader.tenant, MOST_REVIEWS)
        states = [(await self._progress(one, request.reader))[0] for one in found]
        return ReviewsReply(reviews=tuple(one for one in states if one.total or request.reader.everything))

    async def next_pair(self, request: NextPairRequest) -> NextPairReply:
        review = await self._store.review(request.review, request.reader.tenant)
        if review is None:
            return NextPairReply(found=False)
        state, open_ones = await self._progress(review, request.reader)
        for one in (one for one in open_ones if one.number > request.after):
            texts = await self._store.texts(review.id, one.number)
            if texts is None:  # erased meanwhile
                continue
            answers = [clipped(texts[side].strip(), ANSWER_CHARS) for side in ("live", "shadow")]
            a, b = answers[::-1] if candidate_first(review, one.exchange_id, request.reader.expert) else answers
            pair = BlindPair(number=one.number, question=texts["question"], language=texts["language"], a=a, b=b)
            return NextPairReply(review=state, pair=pair)
        return NextPairReply(review=state)

    async def judge(self, request: JudgePairRequest) -> JudgedReply:
        review = await self._store.review(request.review, request.reader.tenant)
        if review is None:
            return JudgedReply(kept=False)
        seen = [one for one in await self._store.pairs(review.id) if _may_see(one, request.reader)]
        chosen = next((one for one in seen if one.number == request.number), None)
        if chosen is None:
            return JudgedReply(kept=False)
        first = candidate_first(review, chosen.exchange_id, request.reader.expert)
        judgement = StoredJudgement(
            review_id=review.id,
            exchange_id=chosen.exchange_id,
            expert=request.reader.expert,
            choice=_side(request.choice, candidate_is_a=first),
            comment=request.comment,
            at=datetime.now(UTC),
        )
        return JudgedReply(kept=await self._store.judge(judgement))

    async def result(self, request: ReviewResultRequest) -> ReviewResultReply:
        review = await self._store.review(request.review, request.tenant)
        if review is None:
            return ReviewResultReply()
        pairs = await self._store.pairs(review.id)
        said = await self._store.judgements(review.id)
        judged: dict[str, dict[str, SideChoice]] = {one.exchange_id: {} for one in pairs}
        for one in said:
            if one.exchange_id in judged:
                judged[one.exchange_id][one.expert] = one.choice
        units = [tuple(choices.values()) for choices in judged.values()]
        alpha = agreement(units)
        comments = [ReviewComment(id=one.exchange_id, **_told(one)) for one in said if one.comment]
        return ReviewResultReply(
            result=ReviewResult(
                **review.model_dump(exclude={"tenant", "secret"}),
                pairs=len(pairs),
                together=ReviewPreference(**together(judged.values())),
                experts=tuple(by_expert(judged)),
                agreement=None if alpha is None else round(alpha, 4),
                shared=sum(len(unit) > 1 for unit in units),
                segments=tuple(_segments(pairs, await self._store.sources(review.id), judged)),
                comments=tuple(comments[-MOST_COMMENTS:]),
            )
        )

    async def remove(self, request: RemoveReviewRequest) -> RemovedReply:
        review = await self._store.review(request.review, request.tenant)
        if review is not None:
            await self._store.remove(review.id)
        return RemovedReply(removed=review is not None)

    async def _progress(self, review: StoredReview, reader: ExpertRequest) -> tuple[ReviewState, list[PairFeatures]]:
        """How far the expert is, and the pairs that are left."""
        seen = [one for one in await self._store.pairs(review.id) if _may_see(one, reader)]
        done = {one.exchange_id for one in await self._store.judgements(review.id, reader.expert)}
        left = [one for one in seen if one.exchange_id not in done]
        state = ReviewState(id=review.id, title=review.title, at=review.at, total=len(seen), done=len(seen) - len(left))
        return state, left


def candidate_first(review: StoredReview, exchange_id: str, expert: str) -> bool:
    """Whether the candidate's answer stands first for this expert: always the same, and not to be guessed."""
    told = f"{exchange_id} {expert}".encode("utf-8", "surrogatepass")
    return bool(hmac.digest(bytes.fromhex(review.secret), told, hashlib.sha256)[0] & 1)


def _side(choice: PlaceChoice, *, candidate_is_a: bool) -> SideChoice:
    match choice:
        case "a" | "b":
            return "candidate" if (choice == "a") is candidate_is_a else "live"
        case _:
            return choice


def _may_see(pair: PairFeatures, reader: ExpertRequest) -> bool:
    """Whether the expert belongs to all groups of the asker, of whose documents the answers may be made."""
    return reader.everything or set(pair.groups) <= set(reader.groups)


def _segments(
    pairs: Sequence[PairFeatures],
    sources: Mapping[str, tuple[str, ...]],
    judged: Mapping[str, Mapping[str, SideChoice]],
) -> list[SegmentPreference]:
    """The segments with enough judged pairs, of each kind the most frequent first."""
    found: list[SegmentPreference] = []
    for segment in get_args(SegmentName):
        by_value: dict[str, list[Mapping[str, SideChoice]]] = {}
        for one in pairs:
            values = {
                "language": (one.language,),
                "class": (one.question_class,),
                "department": (one.department,),
                "source": sources.get(one.exchange_id, ()),
            }[segment]
            for value in filter(None, values if judged[one.exchange_id] else ()):
                by_value.setdefault(value, []).append(judged[one.exchange_id])
        large = {value: said for value, said in by_value.items() if len(said) >= LEAST}
        ordered = sorted(large.items(), key=lambda item: (-len(item[1]), item[0]))
        found += [SegmentPreference(segment=segment, value=value, **together(said)) for value, said in ordered]
    return found


def _told(one: StoredJudgement) -> dict[str, str]:
    return {"expert": one.expert, "choice": one.choice, "comment": one.comment}
