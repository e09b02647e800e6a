"""What is published to JetStream is acknowledged through one inbox: to whom it belongs, in time, after reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.api import Header, StreamConfig
from nats.js.errors import APIError, NoStreamResponseError

from shared.bus.jetstream import JetStream
from tests.support.servers import Server, nats_server

pytestmark = pytest.mark.integration


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[tuple[Server, Client]]:
    with nats_server(tmp_path) as server:
        client = await nats.connect(server.url, reconnect_time_wait=0.05, max_reconnect_attempts=-1)
        await client.jetstream().add_stream(StreamConfig(name="S", subjects=["s.>"], max_msg_size=1000))
        yield server, client
        await client.close()


async def test_each_publish_gets_its_own_acknowledgement(running: tuple[Server, Client]) -> None:
    _, client = running
    jetstream = JetStream(client, timeout=5)

    acks = await asyncio.gather(*(jetstream.publish("s.a", b"%d" % number) for number in range(200)))

    stored = [await jetstream.get_msg("S", seq=ack.seq) for ack in acks]
    assert [message.data for message in stored] == [b"%d" % number for number in range(200)]


async def test_a_duplicate_is_told_with_the_sequence_of_the_first(running: tuple[Server, Client]) -> None:
    jetstream = JetStream(running[1], timeout=5)

    first, second = [await jetstream.publish("s.a", b"x", headers={"Nats-Msg-Id": "one"}) for _ in range(2)]

    assert (first.duplicate, second.duplicate, second.seq) == (None, True, first.seq)


async def test_the_headers_of_the_caller_are_not_changed(running: tuple[Server, Client]) -> None:
    jetstream = JetStream(running[1], timeout=5)
    headers = {"Nats-Msg-Id": "one"}

    ack = await jetstream.publish("s.a", b"x", headers=headers, stream="S")

    assert headers == {"Nats-Msg-Id": "one"}
    assert ((await jetstream.get_msg("S", seq=ack.seq)).headers or {})[Header.EXPECTED_STREAM.value] == "S"


async def test_a_subject_without_a_stream_and_a_refusal_raise_at_once(running: tuple[Server, Client]) -> None:
    jetstream = JetStream(running[1], timeout=60)

    async with asyncio.timeout(20):
        with pytest.raises(NoStreamResponseError):
            await jetstream.publish("nobody.stores.this", b"x")
        with pytest.raises(APIError) as refused:
            await jetstream.publish("s.a", b"x", headers={"Nats-Expected-Last-Subject-Sequence": "7"})
    assert refused.value.err_code == 10071


async def test_a_server_that_does_not_respond_is_waited_for_until_the_timeout(running: tuple[Server, Client]) -> None:
    server, client = running
    jetstream = JetStream(client, timeout=0.3)
    await jetstream.publish("s.a", b"before")
    server.freeze()
    try:
        with pytest.raises(NatsTimeoutError):
            await jetstream.publish("s.a", b"meanwhile")
    finally:
        server.thaw()

    assert jetstream._waiting == {}
    async with asyncio.timeout(20):
        while True:  # the late acknowledgement of the other is nobody's
            try:
                ack = await jetstream.publish("s.a", b"afterwards")
                break
            except NatsTimeoutError:
                continue
    assert (await jetstream.get_msg("S", seq=ack.seq)).data == b"afterwards"


async def test_acknowledgements_come_again_after_the_server_was_killed(running: tuple[Server, Client]) -> None:
    server, client = running
    jetstream = JetStream(client, timeout=1)
    await jetstream.publish("s.a", b"before")

    server.kill()
    server.start()

    async with asyncio.timeout(20):
        while True:
            try:
                ack = await jetstream.publish("s.a", b"afterwards")
                break
            except (NatsTimeoutError, NoStreamResponseError):
                continue
    assert (await jetstream.get_msg("S", seq=ack.seq)).data == b"afterwards"


async def test_a_cancelled_publish_leaves_nothing_behind(running: tuple[Server, Client]) -> None:
    jetstream = JetStream(running[1], timeout=5)
    publishing = asyncio.create_task(jetstream.publish("s.a", b"x"))
    await asyncio.sleep(0)
    publishing.cancel()
    await asyncio.wait({publishing})

    assert jetstream._waiting == {}
    await jetstream.publish("s.a", b"y")
