"""Wiring of the verifier stage."""

from __future__ import annotations

from services.verifier.access import ACCESS
from services.verifier.evaluator import AT_ONCE, Evaluator
from services.verifier.handler import Verifier
from services.verifier.looking import WebUrls
from services.verifier.rails import ModerationRails
from services.verifier.settings import VerifierSettings
from shared.resources import Resources
from shared.stage import Stage
from shared.subjects import URLS_BUCKET


def build(resources: Resources) -> Stage:
    stage = Stage("verifier", settings=VerifierSettings, access=ACCESS)
    urls = WebUrls(resources.settings, resources.stores.key_value(URLS_BUCKET))
    stage.opens(urls)
    stage.on(Verifier(resources.models, urls, ModerationRails(resources.asker)).verify)
    stage.on(Evaluator(resources.models, resources.asker).evaluate, concurrency=AT_ONCE)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
