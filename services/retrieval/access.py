"""What retrieval does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.contracts.domain import Lane
from shared.contracts.facts import FeedbackGiven
from shared.contracts.requests.persistence import ConversationRequest, ExchangeRequest
from shared.contracts.stage import Access
from shared.contracts.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, consume_filter, live

ACCESS = Access(
    keeps=(ANSWERS_BUCKET,),
    objects=(DOCUMENTS_BUCKET,),
    asks=(ExchangeRequest, ConversationRequest),
    follows=tuple(live(consume_filter(FeedbackGiven, lane)) for lane in Lane),
)
