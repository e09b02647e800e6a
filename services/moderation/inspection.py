"""What moderation makes of a text, for operators and evaluations; nothing is said on the bus or counted."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from services.moderation.canonical_text import tidy
from services.moderation.checks import FIRST_LOOK, Look, Opinion, in_danger, judge, verdict_with
from services.moderation.checks.private_data import kept
from services.moderation.model_steps import ModelSteps, Told, places
from services.moderation.ports import PrivateData
from services.moderation.settings import ModerationSettings
from shared.contracts.errors import NotFoundError
from shared.contracts.pipelines import Sections
from shared.contracts.requests.moderation import InspectReply, InspectRequest, PrivateSpan
from shared.runtime.context import StageContext

SettingsByName = Callable[[str], Awaitable[ModerationSettings]]


class Inspector:
    """Answers `ask.moderation.inspect`."""

    def __init__(self, private: PrivateData, steps: ModelSteps, settings: SettingsByName) -> None:
        self._private = private
        self._steps = steps
        self._settings = settings

    async def inspect(self, request: InspectRequest) -> InspectReply:
        """The first look at the text, by rules alone unless it says otherwise, and where it found private data.

        Raises:
            NotFoundError: there is no such pipeline.
        """
        settings = await self._settings(request.pipeline)
        began = time.perf_counter()
        text = tidy(request.text)
        look = Look(text, hint=request.language_hint, private=await self._private.spans(text, settings))
        in_need = in_danger(look, settings)
        verdict = judge(look, settings, FIRST_LOOK)
        told = Told(verdict.text)
        if request.with_model and not in_need:
            rejected = verdict.objection is not None
            told = await self._steps.look(verdict.text, (), settings, math.inf, rejected=rejected)
            verdict = verdict_with(
                replace(verdict, text=told.text), Opinion(told.objection, findings=told.findings), settings
            )
        outcome = "escalated" if in_need or told.emergency else verdict.objection or "approved"
        took = (time.perf_counter() - began) * 1e3
        spans = [*kept(look, settings), *places(look.text, told.private)]
        return InspectReply(
            outcome=outcome,
            text=verdict.text,
            findings=verdict.findings,
            private=tuple(PrivateSpan(kind=kind, start=start, end=end) for kind, start, end in spans),
            took_ms=round(took, 4),
        )


def settings_by_name(context: StageContext) -> SettingsByName:
    """The settings of the pipeline of that name as it is now; an empty name is the default pipeline's."""
    sections = Sections(context.pipelines)

    async def settings(name: str) -> ModerationSettings:
        name = name or context.settings.default_pipeline
        current = context.pipelines.current(name)
        if current is None:
            raise NotFoundError(f"no pipeline is called {name}; pipelines: {', '.join(context.pipelines.names())}")
        return await sections.section(current, "moderation", ModerationSettings)

    return settings
