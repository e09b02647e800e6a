"""What the gateway does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.access import Access
from shared.signals import Token
from shared.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, SESSIONS_BUCKET, STREAM_SUBJECTS, live, signal

ACCESS = Access(
    reads=(SESSIONS_BUCKET, ANSWERS_BUCKET),
    objects=(DOCUMENTS_BUCKET,),
    asks=(
        *("retrieval.search", "retrieval.documents", "retrieval.kb_index", "retrieval.remove"),
        *("persistence.conversation", "persistence.exchange", "persistence.exchanges"),
        *("persistence.export", "persistence.stats", "moderation.inspect"),
    ),
    follows=(*map(live, STREAM_SUBJECTS), signal(Token.kind, "*")),
    log=True,
    stages=True,
    dead=True,
)
