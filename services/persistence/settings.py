"""Persistence's part of a pipeline."""

from __future__ import annotations

from pydantic import Field

from services.persistence.prompts import SUMMARY
from shared.contracts.pipelines import PromptedSection


class PersistenceSettings(PromptedSection):
    """What a conversation remembers. Where the record lies is a process setting (`ANSWERBUS_RECORD_URL`)."""

    turns: int = Field(default=5, ge=0, le=50, description="Turns a session keeps; 0: conversations have no memory.")
    turn_chars: int = Field(default=1000, ge=50, description="Length to which an answer is cut in the session.")
    summaries: bool = Field(
        default=True,
        description="Whether the model that plays `fast`, where there is one, sums up the turns that leave a session.",
    )
    summary_prompt: str = Field(default=SUMMARY, min_length=1, description="What it is told to keep.")
    summary_chars: int = Field(default=800, ge=100, le=4000, description="Length to which a summary is cut.")
    summary_seconds: float = Field(default=20.0, gt=0, description="A summary that takes longer is left out.")
    reuse_days: float = Field(
        default=30, gt=0, description="How long a verified answer is given again to the same question."
    )
    reuse_confidence: float = Field(
        default=5, ge=0, le=10, description="Answers with less confidence (of 10) are not given again."
    )
    session_ttl_seconds: int = Field(
        default=1800, ge=1, description="Silence after which a session is forgotten; every turn starts it anew."
    )
