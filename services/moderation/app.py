"""Wiring of the moderation stage."""

from __future__ import annotations

from services.moderation.handler import look_again, moderate
from services.moderation.settings import ModerationSettings
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:  # noqa: ARG001 (rules need no port)
    stage = Stage("moderation", settings=ModerationSettings)
    stage.on(moderate)
    stage.on(look_again)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
