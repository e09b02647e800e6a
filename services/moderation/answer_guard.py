"""Whether an answer may be given, by the output flows of the pipeline's guardrails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from services.moderation.ports import AnswerGuard
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import PipelineRef
from shared.contracts.pipelines import Sections
from shared.contracts.requests.moderation import GuardAnswerReply, GuardAnswerRequest
from shared.runtime.context import StageContext

SettingsByRevision = Callable[[PipelineRef], Awaitable[ModerationSettings]]

log = structlog.get_logger()


class AnswerGuarding:
    """Answers `ask.moderation.guard_answer`."""

    def __init__(self, guard: AnswerGuard, settings: SettingsByRevision) -> None:
        self._guard = guard
        self._settings = settings

    async def guard_answer(self, request: GuardAnswerRequest) -> GuardAnswerReply:
        """What the flows say of the answer; when they cannot in time, what the pipeline wants then.

        Raises:
            PipelineError: that revision of the pipeline is not kept any more.
        """
        settings = await self._settings(request.pipeline)
        if not settings.guardrails_colang:
            log.warning("asked about an answer without guardrails", pipeline=request.pipeline.name)
            return GuardAnswerReply()
        stopped = await self._guard.stops_answer(request.question, request.answer, settings, request.seconds)
        if stopped is None:
            closed = settings.guardrails_fail == "closed"
            return GuardAnswerReply(objection=closed, kind="unavailable" if closed else "", away=True)
        return GuardAnswerReply(objection=stopped, kind="guardrail" if stopped else "")


def settings_by_revision(context: StageContext) -> SettingsByRevision:
    """The settings of exactly the revision that a question is answered by."""
    sections = Sections(context.pipelines)

    async def settings(ref: PipelineRef) -> ModerationSettings:
        return await sections.section(ref, "moderation", ModerationSettings)

    return settings
