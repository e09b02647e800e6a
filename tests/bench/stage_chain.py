"""The platform's own hops: six stages with empty handlers, each in a worker process of its own.

What the baselines leave out is in here: deadlines, one ending per question, dead letters, heartbeats, withdrawal,
metrics, and the server's republish of every event to the gateways.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Awaitable, Callable

from nats.aio.client import Client

from cli.operations import bus
from shared.contracts import subjects
from shared.contracts.domain import Answer, Lane, Passage, PipelineRef, Question, Turn
from shared.contracts.envelope import opening as opening_event
from shared.contracts.facts import (
    AnswerDrafted,
    AnswerVerified,
    Ending,
    ExchangeRecorded,
    Fact,
    PassagesRetrieved,
    QuestionApproved,
    QuestionAsked,
    QuestionCleared,
)
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext
from shared.runtime.settings import Settings
from shared.runtime.worker import run

from .chain import Chain, Opening, module_command

#: Brings each event to about 4 KB, as in the baselines: the turns travel with the question through every stage.
_SENTENCE = "The office keeps every form for five years and sends a copy to whoever asks for it in writing. "
_TURNS = tuple(Turn(question=f"Question {number}?", answer=_SENTENCE * 5) for number in range(6))
_PASSAGE = Passage(id="forms-1", source="kb:forms.md", text=_SENTENCE)
_ANSWER = Answer(content=_SENTENCE)
_RECORD = _SENTENCE * 30


async def approve(asked: QuestionAsked) -> QuestionApproved:
    return QuestionApproved(question=Question(text=asked.text, turns=asked.turns))


async def clear(approved: QuestionApproved) -> QuestionCleared:
    return QuestionCleared(question=approved.question)


async def retrieve(cleared: QuestionCleared) -> PassagesRetrieved:
    return PassagesRetrieved(question=cleared.question, passages=(_PASSAGE,))


async def answer(retrieved: PassagesRetrieved) -> AnswerDrafted:
    return AnswerDrafted(question=retrieved.question, answer=_ANSWER, passages=retrieved.passages, engine="none")


async def verify(drafted: AnswerDrafted) -> AnswerVerified:
    return AnswerVerified(
        question=drafted.question, answer=drafted.answer, passages=drafted.passages, engine=drafted.engine
    )


async def record(_ending: Ending) -> ExchangeRecorded:
    return ExchangeRecorded(record=_RECORD, outcome="answered")


_HOPS: tuple[tuple[str, Callable[..., Awaitable[Fact | None]]], ...] = (
    ("moderation", approve),
    ("translation", clear),
    ("retrieval", retrieve),
    ("answer", answer),
    ("verifier", verify),
    ("persistence", record),
)


def build_hop(hop: int) -> Callable[[StageContext], Stage]:
    """What the worker of hop 0..5 runs."""

    return lambda _context: _stage(*_HOPS[hop])


def _stage(name: str, handler: Callable[..., Awaitable[Fact | None]]) -> Stage:
    stage = Stage(name)
    stage.on(handler)
    return stage


def opening(number: int) -> Opening:
    """The event with which the gateway puts question `number` on the bus."""
    event = opening_event(
        "gateway",
        QuestionAsked(text=f"Question {number}: how long are forms kept?", turns=_TURNS),
        pipeline=PipelineRef(name="default", revision=1),
        deadline_seconds=300,
        correlation_id=uuid.uuid4().hex,
    )
    headers = {"Nats-Msg-Id": event.event_id, "Nats-TTL": "3600s"}
    return Opening(event.correlation_id, event.subject, event.encode(), headers)


async def provision(client: Client) -> None:
    """The bus as the platform makes it, with the durables of these stages on both lanes."""
    await bus.provision(client, Settings(), [_stage(name, handler) for name, handler in _HOPS])


CHAIN = Chain(
    name="stages",
    provision=provision,
    hop=lambda hop, url: module_command("tests.bench.stage_chain", hop, url),
    opening=opening,
    finished=subjects.live(subjects.consume_filter(ExchangeRecorded, Lane.LIVE)),
    key_token=4,
    ready='"worker ready"',
    environment=lambda _hop, url: {"ANSWERBUS_NATS_URL": url},
)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hop", type=int, required=True)
    parser.add_argument("--url", required=True)
    run(build_hop(parser.parse_args().hop))
