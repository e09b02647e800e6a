"""The limit: hops written with nothing but nats-py and orjson — no validation, no handlers, no care for failures."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime
from typing import Any

import nats
import orjson
import uvloop
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext

from . import sample
from .chain import Chain, module_command

CHAIN = Chain(
    name="raw",
    provision=sample.provision,
    hop=lambda hop, url: module_command("tests.bench.raw_chain", hop, url),
    opening=sample.opening,
    finished=sample.FINISHED,
    key_token=sample.KEY_TOKEN,
)

BATCH = 64


def following(event: dict[str, Any], hop: int) -> dict[str, Any]:
    """The event that hop `hop` says after `event`."""
    return {
        **event,
        "event_id": f"{event['correlation_id']}:{hop + 1}",
        "fact": f"Hop{hop + 1}",
        "causation_id": event["event_id"],
        "occurred_at": datetime.now(UTC),
        "timeline": [*event["timeline"], {"stage": f"hop-{hop}", "waited_ms": 0.0, "worked_ms": 0.0}],
    }


async def pass_on(jetstream: JetStreamContext, message: Msg, hop: int) -> None:
    event = following(orjson.loads(message.data), hop)
    await jetstream.publish(
        sample.subject(hop + 1, event["correlation_id"]),
        orjson.dumps(event),
        headers={"Nats-Msg-Id": event["event_id"]},
        timeout=5,
    )
    await message.ack()


async def run(hop: int, url: str) -> None:
    connection = await nats.connect(url)
    jetstream = connection.jetstream()
    subscription = await jetstream.pull_subscribe_bind(sample.durable(hop), sample.STREAM)
    print("ready", flush=True)
    while True:
        try:
            messages = await subscription.fetch(BATCH, timeout=5)
        except NatsTimeoutError:
            continue
        await asyncio.gather(*(pass_on(jetstream, message, hop) for message in messages))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hop", type=int, required=True)
    parser.add_argument("--url", required=True)
    arguments = parser.parse_args()
    uvloop.run(run(arguments.hop, arguments.url))
