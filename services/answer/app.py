"""Wiring of the answer stage."""

from __future__ import annotations

from services.answer.access import ACCESS
from services.answer.agent import Agent
from services.answer.chat import Chat
from services.answer.extractive import Extractive
from services.answer.handler import Answerer
from services.answer.ports import Engine
from services.answer.settings import AnswerSettings
from services.answer.tools.every import tools
from services.answer.tools.web import Web
from shared.resources import Resources
from shared.stage import Stage

#: Model calls a worker holds at once: waiting for one costs little.
CALLS = 128


def build(resources: Resources) -> Stage:
    models = resources.models
    web = Web(resources.settings)
    engines: dict[str, Engine] = {
        "extractive": Extractive(),
        "chat": Chat(models),
        "agent": Agent(models, tools(resources.asker, web)),
    }
    answerer = Answerer(engines, resources.speaker, models)
    # Quoting takes events in batches; a worker that waits for models takes them one by one.
    waits = models.has("main")
    concurrency = CALLS if waits else 0
    stage = Stage("answer", settings=AnswerSettings, slow=waits, concurrency=concurrency, access=ACCESS)
    stage.opens(web)
    stage.on(answerer.answer)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
