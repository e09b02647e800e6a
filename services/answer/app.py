"""Wiring of the answer stage."""

from __future__ import annotations

from services.answer.extractive import Extractive
from services.answer.handler import Answerer
from services.answer.settings import AnswerSettings
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:
    answerer = Answerer(engines={"extractive": Extractive()}, speaker=resources.speaker)
    stage = Stage("answer", settings=AnswerSettings)
    stage.on(answerer.answer)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
