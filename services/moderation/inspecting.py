"""What the rules make of a text, for operators and evaluations; nothing is said on the bus or counted."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from services.moderation.checks import FIRST_LOOK, Look, in_danger, judge
from services.moderation.checks.private_data import kept
from services.moderation.ports import PrivateData
from services.moderation.settings import ModerationSettings
from services.moderation.tidy import tidy
from shared.asks.moderation import InspectReply, InspectRequest, PrivateSpan
from shared.errors import NotFoundError
from shared.pipelines import Sections
from shared.resources import Resources

SettingsByName = Callable[[str], Awaitable[ModerationSettings]]


class Inspector:
    """Answers `ask.moderation.inspect`."""

    def __init__(self, private: PrivateData, settings: SettingsByName) -> None:
        self._private = private
        self._settings = settings

    async def inspect(self, request: InspectRequest) -> InspectReply:
        """The first look at the text, by rules alone, and where it found private data.

        Raises:
            NotFoundError: there is no such pipeline.
        """
        settings = await self._settings(request.pipeline)
        began = time.perf_counter()
        text = tidy(request.text)
        look = Look(text, hint=request.language_hint, private=await self._private.spans(text, settings))
        verdict = judge(look, settings, FIRST_LOOK)
        outcome = "escalated" if in_danger(look, settings) else verdict.objection or "approved"
        took = (time.perf_counter() - began) * 1e3
        spans = tuple(PrivateSpan(kind=one.kind, start=one.start, end=one.end) for one in kept(look, settings))
        return InspectReply(
            outcome=outcome, text=verdict.text, findings=verdict.findings, private=spans, took_ms=round(took, 4)
        )


def settings_by_name(resources: Resources) -> SettingsByName:
    """The settings of the pipeline of that name as it is now; an empty name is the default pipeline's."""
    sections = Sections(resources.pipelines)

    async def settings(name: str) -> ModerationSettings:
        name = name or resources.settings.default_pipeline
        current = resources.pipelines.current(name)
        if current is None:
            raise NotFoundError(f"no pipeline is called {name}; pipelines: {', '.join(resources.pipelines.names())}")
        return await sections.section(current, "moderation", ModerationSettings)

    return settings
