"""Requests to persistence about reviews, in which experts compare pairs of answers: `ask.persistence.review…`.

`tenant` is the one whose record is meant, empty: all. An expert is never told which answer is whose: the choices `a`
and `b` are places on the page, which persistence draws for each pair and expert.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from shared.contracts.domain import Value
from shared.contracts.experiments import NAME_PATTERN, SegmentName
from shared.contracts.requests.request import Request
from shared.contracts.tenants import DEFAULT_TENANT

#: Most pairs of one review, and characters of a comment.
MOST_PAIRS, COMMENT_CHARS = 1000, 2000
#: What an expert says of two answers by their place: one is better, they are equally good, or neither will do.
PlaceChoice = Literal["a", "b", "tie", "bad"]
#: The same by whose answer is better, as it is stored.
SideChoice = Literal["candidate", "live", "tie", "bad"]


class ReviewPair(Value):
    """The ids of two questions on record: the live one, and its shadow or the one that a split's candidate answered."""

    live: str = Field(pattern="^[0-9a-f]{32}$")
    shadow: str = Field(pattern="^[0-9a-f]{32}$")


class ReviewState(Value):
    """A review as experts see it; `total` and `done` count the pairs that this expert may see and has judged."""

    id: str
    title: str
    at: datetime
    total: int = 0
    done: int = 0


class SentReview(Value):
    """A review after pairs were sent: how many it has now, and how many of those sent were left out.

    `equal` have the same answer twice, `missing` are not on record (or not of this tenant).
    """

    id: str
    name: str
    title: str
    pairs: int
    equal: int = 0
    missing: int = 0


class SendReviewRequest(Request[SentReview]):
    """Put pairs of the tenant's questions before its experts; a review of that `name` gets those that it has not."""

    stage = "persistence"
    verb = "send_review"

    tenant: str = DEFAULT_TENANT
    name: str = Field(pattern=NAME_PATTERN)
    title: str = Field(max_length=200)
    live: str = Field(max_length=250)
    candidate: str = Field(max_length=250)
    by: str = Field(default="", max_length=200)
    pairs: tuple[ReviewPair, ...] = Field(max_length=MOST_PAIRS)


class ExpertRequest(Value):
    """Who judges: a pseudonym, and whose answers may be seen (those to askers in these groups, or everything)."""

    tenant: str = DEFAULT_TENANT
    expert: str = Field(max_length=200)
    groups: tuple[str, ...] = ()
    everything: bool = False


class ReviewsReply(Value):
    """Newest first."""

    reviews: tuple[ReviewState, ...] = ()


class ReviewsRequest(Request[ReviewsReply]):
    """The reviews with the progress of an expert."""

    stage = "persistence"
    verb = "reviews"

    reader: ExpertRequest


class BlindPair(Value):
    """Two answers to a question, in an order that was drawn for this expert; `number` is the pair's in the review."""

    number: int
    question: str
    language: str
    a: str
    b: str


class NextPairReply(Value):
    """The first pair that the expert has not judged; None: all are. `found` is False where there is no such review."""

    found: bool = True
    review: ReviewState | None = None
    pair: BlindPair | None = None


class NextPairRequest(Request[NextPairReply]):
    """The next pair of a review for an expert; those up to `after` are passed over."""

    stage = "persistence"
    verb = "next_pair"

    reader: ExpertRequest
    review: str
    after: int = Field(default=0, ge=0)


class JudgedReply(Value):
    """Whether there is such a pair, so that the judgement was kept."""

    kept: bool


class JudgePairRequest(Request[JudgedReply]):
    """Keep what an expert says of a pair, in place of what they said before."""

    stage = "persistence"
    verb = "judge_pair"

    reader: ExpertRequest
    review: str
    number: int = Field(ge=1)
    choice: PlaceChoice
    comment: str = Field(default="", max_length=COMMENT_CHARS)


class ReviewPreference(Value):
    """How often which answer is better: `tie` are equally good, of `bad` neither will do; both count as no preference.

    `preference` is the mean of 1 (candidate), 0 and -1 (live); its interval holds at every look, and has no bounds
    before twenty pairs. `says`: `better`, `worse` or `open`.
    """

    pairs: int = 0
    candidate: int = 0
    tie: int = 0
    bad: int = 0
    live: int = 0
    preference: float = 0.0
    low: float | None = None
    high: float | None = None
    says: Literal["better", "worse", "open"] = "open"


class ExpertPreference(ReviewPreference):
    """What one expert prefers."""

    expert: str


class SegmentPreference(ReviewPreference):
    """What all experts prefer in one segment."""

    segment: SegmentName
    value: str


class ReviewComment(Value):
    """What an expert wrote about a pair; `id` is that of the live question."""

    id: str
    expert: str
    choice: SideChoice
    comment: str


class ReviewResult(Value):
    """What experts have said of the pairs of a review.

    `together` counts each pair once, by the mean of those who judged it. `agreement` is Krippendorff's alpha over the
    `shared` pairs that at least two have judged: 1 is full agreement, 0 what chance gives; None: too few.
    """

    id: str
    name: str
    title: str
    live: str
    candidate: str
    by: str = ""
    at: datetime
    pairs: int = 0
    together: ReviewPreference = ReviewPreference()
    experts: tuple[ExpertPreference, ...] = ()
    agreement: float | None = None
    shared: int = 0
    segments: tuple[SegmentPreference, ...] = ()
    comments: tuple[ReviewComment, ...] = ()


class ReviewResultReply(Value):
    """The result; None where there is no such review."""

    result: ReviewResult | None = None


class ReviewResultRequest(Request[ReviewResultReply]):
    """What experts have said so far."""

    stage = "persistence"
    verb = "review_result"

    tenant: str = DEFAULT_TENANT
    review: str


class RemovedReply(Value):
    """Whether there was such a review."""

    removed: bool


class RemoveReviewRequest(Request[RemovedReply]):
    """Delete a review with its judgements; the questions stay on record."""

    stage = "persistence"
    verb = "remove_review"

    tenant: str = DEFAULT_TENANT
    review: str


#: All of them, which a gateway sends.
REQUESTS: tuple[type[Request[Any]], ...] = (
    SendReviewRequest,
    ReviewsRequest,
    NextPairRequest,
    JudgePairRequest,
    ReviewResultRequest,
    RemoveReviewRequest,
)
