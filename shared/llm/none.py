"""The models of a process that has no endpoint configured: every step falls back to its rule."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.errors import ModelError
from shared.llm.ports import Listener, M, Message, Reply, Role, Tool
from shared.observability.telemetry import MODEL_FALLBACKS


class NoModels:
    """A `Models` without endpoints: `has` is false, and every call raises `ModelError`."""

    def has(self, role: Role) -> bool:
        return False

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        MODEL_FALLBACKS.labels(step, "not_configured").inc()
        raise ModelError(f"no model is configured for the role {role}; set ANSWERBUS_MODELS or OPENAI_API_KEY")

    async def converse(
        self,
        role: Role,
        step: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        listener: Listener | None = None,
    ) -> Reply:
        MODEL_FALLBACKS.labels(step, "not_configured").inc()
        raise ModelError(f"no model is configured for the role {role}; set ANSWERBUS_MODELS or OPENAI_API_KEY")
