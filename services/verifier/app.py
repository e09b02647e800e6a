"""Wiring of the verifier stage."""

from __future__ import annotations

from services.verifier.handler import Verifier
from services.verifier.settings import VerifierSettings
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:
    stage = Stage("verifier", settings=VerifierSettings)
    stage.on(Verifier(resources.models).verify)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
