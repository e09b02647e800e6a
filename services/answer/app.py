"""Wiring of the answer stage."""

from __future__ import annotations

from services.answer.access import ACCESS
from services.answer.engines.agent import Agent
from services.answer.engines.chat import Chat
from services.answer.engines.extractive import Extractive
from services.answer.handler import Answerer
from services.answer.ports import Engine
from services.answer.settings import AnswerSettings
from services.answer.tools.registry import tools
from services.answer.tools.web_clients import Web
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext

#: Model calls a worker holds at once: waiting for one costs little.
CALLS = 128


def build(context: StageContext) -> Stage:
    models = context.models
    web = Web(context.settings)
    engines: dict[str, Engine] = {
        "extractive": Extractive(),
        "chat": Chat(models),
        "agent": Agent(models, tools(context.requests, web)),
    }
    answerer = Answerer(engines, context.signals, models)
    # Quoting takes events in batches; a worker that waits for models takes them one by one.
    waits = models.has("main")
    concurrency = CALLS if waits else 0
    stage = Stage("answer", settings=AnswerSettings, slow=waits, concurrency=concurrency, access=ACCESS)
    stage.opens(web)
    stage.on(answerer.answer)
    return stage


if __name__ == "__main__":
    from shared.runtime.worker import run

    run(build)
