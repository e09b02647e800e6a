"""What retrieval does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.access import Access
from shared.domain import Lane
from shared.facts import FeedbackGiven
from shared.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, heard, live

ACCESS = Access(
    keeps=(ANSWERS_BUCKET,),
    objects=(DOCUMENTS_BUCKET,),
    asks=("persistence.exchange", "persistence.conversation"),
    follows=tuple(live(heard(FeedbackGiven, lane)) for lane in Lane),
)
