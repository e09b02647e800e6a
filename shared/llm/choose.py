"""The models that the process settings ask for."""

from __future__ import annotations

from shared.llm.endpoint import Endpoint
from shared.llm.fallback import FallbackModels
from shared.llm.settings import ROLES, ModelsSettings


def models_of(settings: ModelsSettings) -> FallbackModels:
    """A cascade for each role; an endpoint that plays several has one breaker and one limit for all of them.

    Nothing is imported or connected before the first call.
    """
    endpoints = {one.name: Endpoint(one) for one in settings.endpoints}
    return FallbackModels({role: [endpoints[one.name] for one in settings.of(role)] for role in ROLES})
