"""The settings of the `moderation` section for the model steps, which are all off by default."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from services.moderation.prompts import EMERGENCY, GATE, PRIVATE
from shared.contracts.pipelines import PromptedSection


class ModelStepSettings(PromptedSection):
    """Which steps the model of the role `fast` runs in addition to the rules; without a model only the rules run."""

    emergency_check: bool = Field(
        default=False, description="Whether a model detects people in danger whom the lexicons miss."
    )
    emergency_prompt: str = Field(default=EMERGENCY, min_length=1, description="The prompt of the emergency check.")
    gate: bool = Field(
        default=False, description="Whether a model rejects what is off topic and what is not a question."
    )
    gate_prompt: str = Field(default=GATE, min_length=1, description="The prompt of the gate.")
    ai_pii: Literal["off", "redact", "block"] = Field(
        default="off",
        description="Whether a model detects private data without a fixed form (names, addresses), and what happens: "
        "redact masks the data, block rejects the question.",
    )
    ai_pii_prompt: str = Field(default=PRIVATE, min_length=1, description="The prompt of the private data step.")
    model_seconds: float = Field(
        default=5.0,
        gt=0,
        description="The time limit of each of these steps, which is then skipped; never more than a third of the "
        "remaining time.",
    )
