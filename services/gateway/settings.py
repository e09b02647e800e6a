"""The gateway's section of a pipeline."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from shared.contracts.pipelines import Section


class GatewaySettings(Section):
    """What a client may ask, and how long it may wait."""

    deadline_seconds: float = Field(default=30, gt=0, le=900, description="A question without an answer ends then.")
    max_question_chars: int = Field(default=2000, gt=0, le=100_000, description="Longer questions are refused.")
    turns: int = Field(default=5, ge=0, le=50, description="Earlier turns sent along with a question.")
    recent_seconds: float = Field(
        default=1800,
        ge=0,
        description="Earlier turns without a session are read from the record when they ended in the last so many.",
    )
    cache: Literal["off", "exact"] = Field(
        default="exact", description="`exact`: a repeated question gets the answer that was verified before."
    )

    @field_validator("cache", mode="before")
    @classmethod
    def _word(cls, value: object) -> object:
        """YAML reads a bare `off` as false."""
        return "off" if value is False else value
