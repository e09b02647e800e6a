"""The events of the baseline chains: about 4 KB of JSON in the shape the platform's own events have."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from nats.aio.client import Client
from nats.js.api import ConsumerConfig, RePublish, StorageType, StreamConfig

from .chain import HOPS, Opening

STREAM = "BENCH"
FINISHED = f"live.b.{HOPS}.*"
KEY_TOKEN = 3

_SENTENCE = "The office keeps every form for five years and sends a copy to whoever asks for it in writing. "
_PASSAGES = [
    {
        "id": f"passage-{number}",
        "source": "kb:forms.md",
        "text": _SENTENCE * 5,
        "score": 1 / (number + 1),
        "via": ["bm25"],
    }
    for number in range(6)
]


def subject(hop: int, key: str) -> str:
    """What hop `hop` hears about one question; `b.6.<key>` is the last event."""
    return f"b.{hop}.{key}"


def durable(hop: int) -> str:
    return f"hop-{hop}"


def opening(number: int) -> Opening:
    """The first event of question `number`."""
    key = uuid.uuid4().hex
    now = datetime.now(UTC)
    event: dict[str, Any] = {
        "event_id": f"{key}:0",
        "fact": "Hop0",
        "correlation_id": key,
        "causation_id": None,
        "conversation_id": key,
        "pipeline": {"name": "default", "revision": 1},
        "lane": "live",
        "attempt": 0,
        "occurred_at": now,
        "deadline": now + timedelta(minutes=5),
        "schema_version": 1,
        "tenant": "default",
        "timeline": [],
        "payload": {"question": f"Question {number}: how long are forms kept?", "passages": _PASSAGES},
    }
    return Opening(key, subject(0, key), orjson.dumps(event), {"Nats-Msg-Id": event["event_id"]})


async def provision(client: Client) -> None:
    """One file stream for all hops and a durable for each; the last event is republished once it is stored."""
    jetstream = client.jetstream()
    await jetstream.add_stream(
        StreamConfig(
            name=STREAM,
            subjects=["b.*.*"],
            storage=StorageType.FILE,
            republish=RePublish(src=f"b.{HOPS}.*", dest=FINISHED.replace("*", "{{wildcard(1)}}")),
        )
    )
    for hop in range(HOPS):
        await jetstream.add_consumer(
            STREAM,
            ConsumerConfig(durable_name=durable(hop), filter_subject=f"b.{hop}.*", ack_wait=30, max_ack_pending=1024),
        )
