"""Wiring of the moderation stage."""

from __future__ import annotations

from services.moderation.adapters import PresidioPrivateData
from services.moderation.guarding import AnswerGuarding, settings_by_revision
from services.moderation.guardrails import NemoGuard
from services.moderation.handler import Moderator
from services.moderation.inspecting import Inspector, settings_by_name
from services.moderation.model_steps import ModelSteps
from services.moderation.settings import ModerationSettings
from services.moderation.watching import LexiconWatch
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:
    private = PresidioPrivateData()
    guard = NemoGuard(resources.models)
    steps = ModelSteps(resources.models)
    moderator = Moderator(private, guard, steps)
    stage = Stage("moderation", settings=ModerationSettings)
    stage.opens(LexiconWatch(resources.pipelines))
    stage.opens(private)
    stage.opens(guard)
    stage.on(moderator.moderate)
    stage.on(moderator.look_again)
    stage.answers("inspect", Inspector(private, steps, settings_by_name(resources)).inspect)
    stage.answers("guard_answer", AnswerGuarding(guard, settings_by_revision(resources)).guard_answer)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
