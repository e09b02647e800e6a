"""Wiring of the gateway."""

from __future__ import annotations

from services.gateway.access import ACCESS
from services.gateway.admission import Admission
from services.gateway.auth import Doorkeeper
from services.gateway.face import HttpFace
from services.gateway.handler import Reception
from services.gateway.settings import GatewaySettings
from services.gateway.state import Gateway
from services.gateway.stream import LiveFeed
from shared.facts import AnswerReused, DocumentSubmitted, FeedbackGiven, QuestionAsked, QuestionWithdrawn
from shared.facts_forgetting import ErasureRequested
from shared.resources import Resources
from shared.stage import Stage
from shared.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, SESSIONS_BUCKET


def build(resources: Resources) -> Stage:
    stage = Stage("gateway", settings=GatewaySettings, access=ACCESS)
    stage.says(QuestionAsked, AnswerReused, QuestionWithdrawn, FeedbackGiven, DocumentSubmitted, ErasureRequested)
    feed = LiveFeed(resources.log)
    admission = Admission(resources.oldest_waiting, resources.settings.admission_seconds)
    reception = Reception(
        settings=resources.settings,
        pipelines=resources.pipelines,
        facts=resources.facts("gateway"),
        event_log=resources.log,
        feed=feed,
        sessions=resources.stores.key_value(SESSIONS_BUCKET),
        asker=resources.asker,
        bodies=resources.stores.objects(DOCUMENTS_BUCKET),
        answers=resources.stores.key_value(ANSWERS_BUCKET),
        admit=admission.check,
    )
    stage.opens(admission)
    stage.opens(HttpFace(Gateway(resources, reception, feed, Doorkeeper(resources.settings), admission)))
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
