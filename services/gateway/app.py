"""Wiring of the gateway."""

from __future__ import annotations

from services.gateway.access import ACCESS
from services.gateway.admission import Admission
from services.gateway.auth import Doorkeeper
from services.gateway.handler import Reception
from services.gateway.http_server import HttpFace
from services.gateway.settings import GatewaySettings
from services.gateway.state import Gateway
from services.gateway.stream import LiveFeed
from shared.contracts.facts import (
    AnswerReused,
    DocumentSubmitted,
    ErasureRequested,
    FeedbackGiven,
    QuestionAsked,
    QuestionWithdrawn,
)
from shared.contracts.stage import Stage
from shared.contracts.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, SESSIONS_BUCKET
from shared.runtime.context import StageContext


def build(context: StageContext) -> Stage:
    stage = Stage("gateway", settings=GatewaySettings, access=ACCESS)
    stage.publishes(QuestionAsked, AnswerReused, QuestionWithdrawn, FeedbackGiven, DocumentSubmitted, ErasureRequested)
    feed = LiveFeed(context.log)
    admission = Admission(context.oldest_waiting, context.settings.admission_seconds)
    reception = Reception(
        settings=context.settings,
        pipelines=context.pipelines,
        facts=context.facts("gateway"),
        event_log=context.log,
        feed=feed,
        sessions=context.stores.key_value(SESSIONS_BUCKET),
        asker=context.requests,
        bodies=context.stores.objects(DOCUMENTS_BUCKET),
        answers=context.stores.key_value(ANSWERS_BUCKET),
        admit=admission.check,
    )
    stage.opens(admission)
    stage.opens(HttpFace(Gateway(context, reception, feed, Doorkeeper(context.settings), admission)))
    return stage


if __name__ == "__main__":
    from shared.runtime.worker import run

    run(build)
