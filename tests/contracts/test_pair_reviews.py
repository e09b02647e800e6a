"""Reviews on SQLite and on PostgreSQL: blind pairs, what experts say of them, and what is left after an erasure."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.persistence import projection
from services.persistence.adapters import SqlRecord
from services.persistence.erasure_adapter import SqlErasureStore
from services.persistence.pair_reviews import PairReviews, candidate_first
from services.persistence.review_adapter import SqlReviewStore
from shared.contracts.domain import Lane
from shared.contracts.errors import RefusedError
from shared.contracts.requests.persistence import Exchange
from shared.contracts.requests.reviews import (
    ExpertRequest,
    JudgePairRequest,
    NextPairRequest,
    PlaceChoice,
    RemoveReviewRequest,
    ReviewPair,
    ReviewResult,
    ReviewResultRequest,
    ReviewsRequest,
    SendReviewRequest,
    SentReview,
)
from shared.operations.confidence_sequence import LEAST
from tests.support.records import NOON, question_id, said, verified

pytestmark = pytest.mark.integration

ANN, BOB = ExpertRequest(expert="ann", everything=True), ExpertRequest(expert="bob", everything=True)
SHADOW = 1000


@pytest.fixture
def record(sql_record: SqlRecord) -> SqlRecord:
    return sql_record


def exchange(number: int, answer: str, **fields: object) -> Exchange:
    event = said(verified(answer), question=question_id(number), at=NOON + timedelta(seconds=number))
    values = {"question": f"Question {number}?", "answer_text": answer, **fields}
    return projection.exchange(event.payload, event).model_copy(update=values)


async def kept_pairs(record: SqlRecord, count: int, **fields: object) -> tuple[ReviewPair, ...]:
    """So many live questions on record, each with its shadow."""
    for number in range(count):
        await record.save(exchange(number, f"The live answer {number}.", **fields))
        of_shadow = {"lane": Lane.BACKGROUND.value, "parent": question_id(number), **fields}
        await record.save(exchange(SHADOW + number, f"The other answer {number}.", **of_shadow))
    return tuple(ReviewPair(live=question_id(n), shadow=question_id(SHADOW + n)) for n in range(count))


def sending(pairs: tuple[ReviewPair, ...], **fields: str) -> SendReviewRequest:
    more = {"name": "trial", "title": "Which is better?", "live": "default@1", "candidate": "other@2", **fields}
    return SendReviewRequest.model_validate({**more, "pairs": pairs})


async def judged(reviews: PairReviews, sent: SentReview, reader: ExpertRequest, wanted: str, most: int = 100) -> int:
    """Judge what is left: the answer that contains the words is better; how many."""
    for count in range(most):
        found = await reviews.next_pair(NextPairRequest(reader=reader, review=sent.id))
        if found.pair is None:
            return count
        choice: PlaceChoice = "a" if wanted in found.pair.a else "b"
        asked = JudgePairRequest(reader=reader, review=sent.id, number=found.pair.number, choice=choice)
        assert (await reviews.judge(asked)).kept
    return most


async def result_of(reviews: PairReviews, sent: SentReview) -> ReviewResult:
    found = (await reviews.result(ReviewResultRequest(tenant="", review=sent.id))).result
    assert found
    return found


async def test_experts_judge_the_same_pairs_independently_and_the_result_knows_whose_answer_won(
    record: SqlRecord,
) -> None:
    reviews = PairReviews(SqlReviewStore(record))
    sent = await reviews.send(sending(await kept_pairs(record, LEAST + 2, language="fra")))
    assert (sent.pairs, sent.equal, sent.missing) == (LEAST + 2, 0, 0)
    assert await judged(reviews, sent, ANN, "The other") == LEAST + 2
    assert await judged(reviews, sent, BOB, "The live", most=2) == 2
    (mine,) = (await reviews.reviews(ReviewsRequest(reader=BOB))).reviews
    assert (mine.title, mine.done, mine.total) == ("Which is better?", 2, LEAST + 2)

    found = await result_of(reviews, sent)
    assert [(one.expert, one.candidate, one.live) for one in found.experts] == [("ann", LEAST + 2, 0), ("bob", 0, 2)]
    assert (found.together.pairs, found.together.candidate, found.together.tie) == (LEAST + 2, LEAST, 2)
    assert found.together.says == "better"
    assert (found.shared, found.agreement) == (2, -0.5)
    assert [(one.segment, one.value, one.pairs) for one in found.segments if one.segment == "language"] == [
        ("language", "fra", LEAST + 2)
    ]


async def test_a_judgement_can_be_changed_passed_over_and_commented(record: SqlRecord) -> None:
    reviews = PairReviews(SqlReviewStore(record))
    sent = await reviews.send(sending(await kept_pairs(record, 2)))
    first = (await reviews.next_pair(NextPairRequest(reader=ANN, review=sent.id))).pair
    again = (await reviews.next_pair(NextPairRequest(reader=ANN, review=sent.id))).pair
    second = (await reviews.next_pair(NextPairRequest(reader=ANN, review=sent.id, after=1))).pair
    assert first == again
    assert first is not None
    assert second is not None
    assert (first.number, second.number) == (1, 2)
    for choice, comment in (("bad", "Both are wrong."), ("tie", "")):
        asked = {"reader": ANN, "review": sent.id, "number": 1, "choice": choice, "comment": comment}
        assert (await reviews.judge(JudgePairRequest.model_validate(asked))).kept
        found = await result_of(reviews, sent)
        assert (found.together.pairs, [one.comment for one in found.comments]) == (1, [comment] if comment else [])
    nothing = JudgePairRequest(reader=ANN, review=sent.id, number=9, choice="a")
    assert not (await reviews.judge(nothing)).kept


async def test_the_order_is_drawn_for_each_pair_and_expert_and_stays(record: SqlRecord) -> None:
    store = SqlReviewStore(record)
    reviews = PairReviews(store)
    sent = await reviews.send(sending(await kept_pairs(record, 3)))
    review = await store.review(sent.id, "")
    assert review
    drawn = [candidate_first(review, question_id(n), expert) for n in range(500) for expert in ("ann", "bob")]
    assert 420 < sum(drawn) < 580
    assert 180 < sum(a == b for a, b in zip(drawn[::2], drawn[1::2], strict=True)) < 320
    other = review.model_copy(update={"secret": "ab" * 32})
    assert drawn != [candidate_first(other, question_id(n), expert) for n in range(500) for expert in ("ann", "bob")]
    shown = (await reviews.next_pair(NextPairRequest(reader=ANN, review=sent.id))).pair
    assert shown
    assert ("The other" in shown.a) == candidate_first(review, question_id(0), "ann")


async def test_equal_missing_and_known_pairs_are_not_added(record: SqlRecord) -> None:
    reviews = PairReviews(SqlReviewStore(record))
    pairs = await kept_pairs(record, 3)
    await record.save(exchange(SHADOW + 2, "The live answer 2. ", lane="background", event_id="again"))
    unknown = ReviewPair(live=question_id(77), shadow=question_id(78))
    sent = await reviews.send(sending((pairs[0], pairs[2], unknown)))
    assert (sent.pairs, sent.equal, sent.missing) == (1, 1, 1)
    more = await reviews.send(sending(pairs[:2]))
    assert (more.id, more.pairs) == (sent.id, 2)
    with pytest.raises(RefusedError, match="compares other@2 with default@1"):
        await reviews.send(sending(pairs, candidate="third@1"))
    with pytest.raises(RefusedError, match="none to compare"):
        await reviews.send(sending((unknown,), name="empty"))
    assert len((await reviews.reviews(ReviewsRequest(reader=ANN))).reviews) == 1


async def test_another_tenant_and_an_expert_outside_of_the_askers_groups_see_nothing(record: SqlRecord) -> None:
    reviews = PairReviews(SqlReviewStore(record))
    pairs = await kept_pairs(record, 2)
    board = exchange(1, "For the board.")
    await record.save(board.model_copy(update={"details": {**board.details, "groups": ["board"]}, "event_id": "x"}))
    sent = await reviews.send(sending(pairs))
    with pytest.raises(RefusedError, match="none to compare"):
        await reviews.send(sending(pairs, tenant="other"))
    outsider = ExpertRequest(expert="eve", everything=True, tenant="other")
    assert not (await reviews.next_pair(NextPairRequest(reader=outsider, review=sent.id))).found
    assert (await reviews.reviews(ReviewsRequest(reader=outsider))).reviews == ()
    assert (await reviews.result(ReviewResultRequest(tenant="other", review=sent.id))).result is None
    assert not (await reviews.remove(RemoveReviewRequest(tenant="other", review=sent.id))).removed
    for reader, seen in ((ExpertRequest(expert="desk"), 1), (ExpertRequest(expert="member", groups=("board",)), 2)):
        (state,) = (await reviews.reviews(ReviewsRequest(reader=reader))).reviews
        assert state.total == seen
        hidden = JudgePairRequest(reader=reader, review=sent.id, number=2, choice="tie")
        assert (await reviews.judge(hidden)).kept == (seen == 2)


@pytest.mark.parametrize("erased", ["live", "shadow"])
async def test_what_is_erased_or_expires_is_gone_from_reviews_with_what_was_said_of_it(
    record: SqlRecord, erased: str
) -> None:
    reviews = PairReviews(SqlReviewStore(record))
    sent = await reviews.send(sending(await kept_pairs(record, 3)))
    await judged(reviews, sent, ANN, "The other")
    gone = question_id(0 if erased == "live" else SHADOW)
    counts = await SqlErasureStore(record).erase([gone])
    assert (counts["review_pairs"], counts["pair_judgements"]) == (1, 1)
    found = await result_of(reviews, sent)
    assert (found.pairs, found.together.pairs) == (2, 2)
    late = JudgePairRequest(reader=BOB, review=sent.id, number=1, choice="tie", comment="late")
    assert not (await reviews.judge(late)).kept
    await record.expire(NOON + timedelta(seconds=2), 100)
    assert (await result_of(reviews, sent)).pairs == 1
    assert (await reviews.remove(RemoveReviewRequest(tenant="", review=sent.id))).removed
    assert (await reviews.result(ReviewResultRequest(tenant="", review=sent.id))).result is None
