"""The section `persistence` of a pipeline."""

from __future__ import annotations

from pydantic import Field

from services.persistence.prompts import SUMMARY
from shared.contracts.payloads import RESULT_CHARS
from shared.contracts.pipelines import PromptedSection
from shared.contracts.sessions import KEPT_RESULTS


class PersistenceSettings(PromptedSection):
    """Sessions, summaries and reusable answers. The record's database is a process setting (`ANSWERBUS_RECORD_URL`)."""

    turns: int = Field(
        default=5, ge=0, le=50, description="Turns that a session keeps; 0: conversations have no memory."
    )
    turn_chars: int = Field(default=1000, ge=50, description="Characters to which an answer is cut in the session.")
    results: int = Field(
        default=KEPT_RESULTS,
        ge=1,
        le=12,
        description="Turns of a session, the newest ones, that keep the structured results of their answers (experts, "
        "free slots, bookings, content).",
    )
    result_chars: int = Field(
        default=RESULT_CHARS,
        ge=500,
        le=20_000,
        description="Characters of JSON to which the structured results of a turn are cut; ids stay.",
    )
    summaries: bool = Field(
        default=True,
        description="Whether the model of the role `fast` summarises the turns that leave a session.",
    )
    summary_prompt: str = Field(default=SUMMARY, min_length=1, description="Instructions for the summary.")
    reuse_days: float = Field(
        default=30, gt=0, description="Days for which a verified answer is reused for the same question."
    )
    reuse_confidence: float = Field(
        default=5, ge=0, le=10, description="Minimum confidence (0 to 10) of answers that are reused."
    )
    session_ttl_seconds: int = Field(
        default=1800, ge=1, description="Seconds without a new turn after which a session is deleted."
    )
