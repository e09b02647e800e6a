"""The part of the `moderation` section that is about steps of a model, each off unless the pipeline turns it on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from services.moderation.prompts import EMERGENCY, GATE, PRIVATE
from shared.contracts.pipelines import PromptedSection


class ModelStepSettings(PromptedSection):
    """Which steps the model that plays `fast` takes, beside the rules; without a model the rules stand alone."""

    emergency_check: bool = Field(
        default=False, description="Whether a model looks for people in danger that the lists of phrases miss."
    )
    emergency_prompt: str = Field(default=EMERGENCY, min_length=1, description="What it is told to look for.")
    gate: bool = Field(
        default=False, description="Whether a model sorts out what is off topic and what asks for nothing."
    )
    gate_prompt: str = Field(default=GATE, min_length=1, description="What it is told to tell apart.")
    ai_pii: Literal["off", "redact", "block"] = Field(
        default="off",
        description="Whether a model looks for private data without a shape (names, addresses), and what follows: the "
        "question goes on without it, or is refused.",
    )
    ai_pii_prompt: str = Field(default=PRIVATE, min_length=1, description="What it is told to find.")
    model_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Each of these steps is left out after this long, or after a third of the time that is left.",
    )
