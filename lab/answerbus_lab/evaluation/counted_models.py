"""The configured models in a measurement, with a count of the calls that brought no reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.contracts.errors import ConfigurationError
from shared.llm.fallback import FallbackModels
from shared.llm.ports import M, Models, Role
from shared.runtime.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class CountedModels(Models):
    """Counts the single-step calls of models: how many were made, and how many returned a reply."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self.asked = self.answered = 0

    @property
    def calls(self) -> dict[str, int]:
        """The figures of a report."""
        return {"asked": self.asked, "without_reply": self.asked - self.answered}

    def has(self, role: Role) -> bool:
        return self._models.has(role)

    def chat(self, role: Role, step: str) -> BaseChatModel:
        return self._models.chat(role, step)

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        self.asked += 1
        reply = await self._models.invoke(role, step, system, user, response_model)
        self.answered += 1
        return reply


def models_with_fast(option: str) -> FallbackModels:
    """The configured models; the caller closes them.

    Raises:
        ConfigurationError: none plays the role `fast`, which the `option` needs.
    """
    models = FallbackModels.from_settings(Settings().model_endpoints)
    if not models.has("fast"):
        raise ConfigurationError(f"{option} needs a model in the role fast; see docs/models.md")
    return models
