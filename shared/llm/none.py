"""The models of a process that has no endpoint configured: every step falls back to its rule."""

from __future__ import annotations

from typing import NoReturn

from shared.contracts.errors import ModelError
from shared.llm.ports import Models, Role
from shared.observability.telemetry import MODEL_FALLBACKS


class NoModels(Models):
    """Without endpoints: `has` is false, and asking for a model raises `ModelError`."""

    def has(self, role: Role) -> bool:
        return False

    def chat(self, role: Role, step: str) -> NoReturn:
        MODEL_FALLBACKS.labels(step, "not_configured").inc()
        raise ModelError(f"no model is configured for the role {role}; set ANSWERBUS_MODELS or OPENAI_API_KEY")
