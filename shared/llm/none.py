"""No models: every step keeps to its rule."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.errors import ModelError
from shared.llm.ports import Listener, M, Message, Reply, Role, Tool
from shared.observability.telemetry import MODEL_FALLBACKS


class NoModels:
    """Plays `Models` where none is configured."""

    def has(self, role: Role) -> bool:
        return False

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        MODEL_FALLBACKS.labels(step, "not_configured").inc()
        raise ModelError(f"no model is configured for the role {role}")

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
        raise ModelError(f"no model is configured for the role {role}")
