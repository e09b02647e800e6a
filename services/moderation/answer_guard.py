"""Checks answers with the output flows of the pipeline's guardrails, on request of the verifier."""

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


class AnswerGuardHandler:
    """Answers `ask.moderation.guard_answer`."""

    def __init__(self, guard: AnswerGuard, settings: SettingsByRevision) -> None:
        self._guard = guard
        self._settings = settings

    async def guard_answer(self, request: GuardAnswerRequest) -> GuardAnswerReply:
        """Runs the output flows; when they fail or are too slow, `guardrails_fail` decides.

        Raises:
            PipelineError: that revision of the pipeline is not kept any more.
        """
        settings = await self._settings(request.pipeline)
        if not settings.guardrails_colang:
            log.warning("guard_answer requested for a pipeline without guardrails", pipeline=request.pipeline.name)
            return GuardAnswerReply()
        blocked = await self._guard.blocks_answer(request.question, request.answer, settings, request.seconds)
        if blocked is None:
            closed = settings.guardrails_fail == "closed"
            return GuardAnswerReply(objection=closed, kind="unavailable" if closed else "", away=True)
        return GuardAnswerReply(objection=blocked, kind="guardrail" if blocked else "")


def settings_by_revision(context: StageContext) -> SettingsByRevision:
    """A function to the settings of a revision of a pipeline."""
    sections = Sections(context.pipelines)

    async def settings(ref: PipelineRef) -> ModerationSettings:
        return await sections.section(ref, "moderation", ModerationSettings)

    return settings
