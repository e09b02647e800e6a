"""Persistence's part of a pipeline."""

from __future__ import annotations

from pydantic import Field

from shared.pipelines import Section


class PersistenceSettings(Section):
    """What a conversation remembers. Where the record lies is a process setting (`ANSWERBUS_RECORD_URL`)."""

    turns: int = Field(default=5, ge=0, le=50, description="Turns a session keeps; 0: conversations have no memory.")
    turn_chars: int = Field(default=1000, ge=50, description="Length to which an answer is cut in the session.")
    reuse_days: float = Field(
        default=30, gt=0, description="How long a verified answer is given again to the same question."
    )
    reuse_confidence: float = Field(
        default=5, ge=0, le=10, description="Answers with less confidence (of 10) are not given again."
    )
    session_ttl_seconds: int = Field(
        default=1800, ge=1, description="Silence after which a session is forgotten; every turn starts it anew."
    )
