"""Reviews over HTTP: experts compare pairs of answers without knowing whose they are.

What an expert is sent has the question and two answers, and nothing by which these can be told apart: no ids,
pipelines, times or scores.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from services.gateway.auth import Caller
from services.gateway.feedback import masked
from services.gateway.parameters import CurrentGateway, Editor, Operator
from services.gateway.path_ids import ID_PATTERN
from services.gateway.protected_route import ProtectedRoute
from shared.contracts.errors import NotFoundError
from shared.contracts.experiments import NAME_PATTERN
from shared.contracts.requests.reviews import (
    COMMENT_CHARS,
    MOST_PAIRS,
    BlindPair,
    ExpertRequest,
    JudgePairRequest,
    NextPairReply,
    NextPairRequest,
    PlaceChoice,
    RemoveReviewRequest,
    ReviewPair,
    ReviewResult,
    ReviewResultRequest,
    ReviewsReply,
    ReviewsRequest,
    ReviewState,
    SendReviewRequest,
    SentReview,
)
from shared.text.sanitizer import cleaned

router = APIRouter(prefix="/api/v1/reviews", tags=["reviews"], route_class=ProtectedRoute)

#: Seconds persistence may take.
TIMEOUT = 30.0

ReviewId = Annotated[str, Path(pattern=ID_PATTERN, description="The `id` that POST /reviews returned.")]
Number = Annotated[int, Path(ge=1, le=MOST_PAIRS, description="The pair's `number`.")]


class ReviewIn(BaseModel):
    """Pairs of questions on record: the live one, and its shadow that the candidate answered."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "name": "shorter-prompt",
                "live": "default@3",
                "candidate": "shorter@1",
                "pairs": [{"live": "0" * 32, "shadow": "1" * 32}],
            }
        },
    )

    name: str = Field(pattern=NAME_PATTERN, description="Of the experiment; experts are not told it.")
    title: str = Field(default="", max_length=200, description="What experts read instead of the name.")
    live: str = Field(max_length=250, description="The live pipeline's label.")
    candidate: str = Field(max_length=250, description="The candidate's label.")
    pairs: tuple[ReviewPair, ...] = Field(min_length=1, max_length=MOST_PAIRS)


class PairJudgementIn(BaseModel):
    """What an expert says of the two answers."""

    model_config = ConfigDict(extra="forbid")

    choice: PlaceChoice = Field(description="`a` or `b` is better, `tie`: equally good, `bad`: neither will do.")
    comment: str = Field(default="", max_length=COMMENT_CHARS, description="Private data in it is masked.")


class BlindTask(BaseModel):
    """How far the expert is, and the next pair; none: all that may be seen are judged (or passed over)."""

    review: ReviewState
    pair: BlindPair | None


@router.post("", status_code=201, responses={201: {"model": SentReview}})
async def send(body: ReviewIn, gateway: CurrentGateway, caller: Operator) -> SentReview:
    """Put pairs before the experts of the tenant; a review of the same name gets those that it has not.

    Only ids are kept: questions and answers are read from the record, and are gone from the review when they are
    erased. Pairs with equal answers are left out.
    """
    request = SendReviewRequest(
        tenant=caller.tenant,
        name=body.name,
        title=cleaned(body.title),
        live=body.live,
        candidate=body.candidate,
        by=caller.name,
        pairs=body.pairs,
    )
    return await gateway.context.requests.ask(request, TIMEOUT)


@router.get("", responses={200: {"model": ReviewsReply}})
async def reviews(gateway: CurrentGateway, caller: Editor) -> ReviewsReply:
    """List the reviews with what the caller has judged of them, the newest first."""
    return await gateway.context.requests.ask(ReviewsRequest(reader=_expert(caller)), TIMEOUT)


@router.get("/{review_id}/next", responses={200: {"model": BlindTask}})
async def next_pair(
    review_id: ReviewId,
    gateway: CurrentGateway,
    caller: Editor,
    after: Annotated[int, Query(ge=0, le=MOST_PAIRS, description="Pass over pairs up to this number.")] = 0,
) -> dict[str, Any]:
    """The next pair that the caller has not judged, with the answers in an order that is drawn for each expert."""
    request = NextPairRequest(reader=_expert(caller), review=review_id, after=after)
    found: NextPairReply = await gateway.context.requests.ask(request, TIMEOUT)
    if found.review is None:
        raise _unknown(review_id)
    shown: dict[str, Any] = cleaned(BlindTask(review=found.review, pair=found.pair).model_dump(mode="json"))
    return shown


@router.put("/{review_id}/pairs/{number}", status_code=204)
async def judge(
    review_id: ReviewId, number: Number, body: PairJudgementIn, gateway: CurrentGateway, caller: Editor
) -> None:
    """Say which answer of a pair is better; a second time replaces the first."""
    request = JudgePairRequest(
        reader=_expert(caller),
        review=review_id,
        number=number,
        choice=body.choice,
        comment=await masked(cleaned(body.comment), "", gateway.context.requests),
    )
    if not (await gateway.context.requests.ask(request, TIMEOUT)).kept:
        raise NotFoundError(f"there is no pair {number} of a review {review_id}; see GET /api/v1/reviews")


@router.get("/{review_id}", responses={200: {"model": ReviewResult}})
async def result(review_id: ReviewId, gateway: CurrentGateway, caller: Operator) -> dict[str, Any]:
    """What experts prefer so far: together, each of them, by segment, and how far they agree."""
    request = ReviewResultRequest(tenant=caller.seen_tenant, review=review_id)
    found = (await gateway.context.requests.ask(request, TIMEOUT)).result
    if found is None:
        raise _unknown(review_id)
    shown: dict[str, Any] = cleaned(found.model_dump(mode="json"))
    return shown


@router.delete("/{review_id}", status_code=204)
async def remove(review_id: ReviewId, gateway: CurrentGateway, caller: Operator) -> None:
    """Delete a review with all its judgements; the questions stay on record."""
    request = RemoveReviewRequest(tenant=caller.seen_tenant, review=review_id)
    if not (await gateway.context.requests.ask(request, TIMEOUT)).removed:
        raise _unknown(review_id)


def _expert(caller: Caller) -> ExpertRequest:
    return ExpertRequest(
        tenant=caller.seen_tenant,
        expert=caller.voter,
        groups=caller.groups,
        everything=caller.role == "operator",
    )


def _unknown(review_id: str) -> NotFoundError:
    return NotFoundError(f"there is no review {review_id}; see GET /api/v1/reviews")
