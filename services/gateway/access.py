"""What the gateway does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.contracts.requests.moderation import InspectRequest
from shared.contracts.requests.persistence import (
    ConversationRequest,
    ExchangeRequest,
    ExchangesRequest,
    ExportRequest,
    StatsRequest,
)
from shared.contracts.requests.retrieval import DocumentsRequest, RemoveRequest, SearchRequest, SourceIndexRequest
from shared.contracts.signals import Token
from shared.contracts.stage import Access
from shared.contracts.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, SESSIONS_BUCKET, STREAM_SUBJECTS, live, signal

ACCESS = Access(
    reads=(SESSIONS_BUCKET, ANSWERS_BUCKET),
    objects=(DOCUMENTS_BUCKET,),
    asks=(
        SearchRequest,
        DocumentsRequest,
        SourceIndexRequest,
        RemoveRequest,
        ConversationRequest,
        ExchangeRequest,
        ExchangesRequest,
        ExportRequest,
        StatsRequest,
        InspectRequest,
    ),
    follows=(*map(live, STREAM_SUBJECTS), signal(Token.kind, "*")),
    log=True,
    stages=True,
    dead=True,
)
