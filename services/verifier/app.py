"""Wiring of the verifier stage."""

from __future__ import annotations

from services.verifier.access import ACCESS
from services.verifier.evaluator import AT_ONCE, Evaluator
from services.verifier.guardrails_client import ModerationRails
from services.verifier.handler import Verifier
from services.verifier.settings import VerifierSettings
from services.verifier.url_checker import WebUrls
from shared.contracts.stage import Stage
from shared.contracts.subjects import URLS_BUCKET
from shared.runtime.context import StageContext


def build(context: StageContext) -> Stage:
    stage = Stage("verifier", settings=VerifierSettings, access=ACCESS)
    urls = WebUrls(context.settings, context.stores.key_value(URLS_BUCKET))
    stage.opens(urls)
    stage.on(Verifier(context.models, urls, ModerationRails(context.requests)).verify)
    stage.on(Evaluator(context.models, context.requests).evaluate, concurrency=AT_ONCE)
    return stage


if __name__ == "__main__":
    from shared.runtime.worker import run

    run(build)
