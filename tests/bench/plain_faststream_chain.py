"""The same hops the plain FastStream way: a typed handler on a durable pull subscription, and a publish.

What is left out is what the platform adds on top: deadlines, dead letters, retries, terminal facts, metrics.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import uvloop
from faststream import AckPolicy, FastStream
from faststream.nats import JStream, NatsBroker, PullSub
from pydantic import BaseModel

from . import sample
from .chain import Chain, module_command

CHAIN = Chain(
    name="plain",
    provision=sample.provision,
    hop=lambda hop, url: module_command("tests.bench.plain_faststream_chain", hop, url),
    opening=sample.opening,
    finished=sample.FINISHED,
    key_token=sample.KEY_TOKEN,
)


class Pipeline(BaseModel):
    name: str
    revision: int


class Timing(BaseModel):
    stage: str
    waited_ms: float
    worked_ms: float


class Passage(BaseModel):
    id: str
    source: str
    text: str
    score: float
    via: tuple[str, ...]


class Payload(BaseModel):
    question: str
    passages: tuple[Passage, ...]


class Event(BaseModel):
    """The envelope and the payload of `sample.opening`, typed."""

    event_id: str
    fact: str
    correlation_id: str
    causation_id: str | None
    conversation_id: str
    pipeline: Pipeline
    lane: str
    attempt: int
    occurred_at: datetime
    deadline: datetime
    schema_version: int
    tenant: str
    timeline: tuple[Timing, ...]
    payload: Payload


def following(event: Event, hop: int) -> Event:
    """The event that hop `hop` says after `event`."""
    return event.model_copy(
        update={
            "event_id": f"{event.correlation_id}:{hop + 1}",
            "fact": f"Hop{hop + 1}",
            "causation_id": event.event_id,
            "occurred_at": datetime.now(UTC),
            "timeline": (*event.timeline, Timing(stage=f"hop-{hop}", waited_ms=0, worked_ms=0)),
        }
    )


def build(hop: int, url: str) -> FastStream:
    broker = NatsBroker(url, logger=None)

    @broker.subscriber(
        f"b.{hop}.*",
        stream=JStream(sample.STREAM, declare=False),
        durable=sample.durable(hop),
        pull_sub=PullSub(batch_size=64),
        ack_policy=AckPolicy.NACK_ON_ERROR,
    )
    async def pass_on(event: Event) -> None:
        said = following(event, hop)
        await broker.publish(
            said,
            sample.subject(hop + 1, said.correlation_id),
            headers={"Nats-Msg-Id": said.event_id},
            stream=sample.STREAM,
            timeout=5,
        )

    app = FastStream(broker, logger=None)

    @app.after_startup
    async def tell() -> None:
        print("ready", flush=True)

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hop", type=int, required=True)
    parser.add_argument("--url", required=True)
    arguments = parser.parse_args()
    uvloop.run(build(arguments.hop, arguments.url).run())
