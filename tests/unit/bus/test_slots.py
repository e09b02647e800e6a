"""The slots of a subscription: its pulls share them, none starves, and no more is processed than there are."""

from __future__ import annotations

import asyncio
import json
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from shared.bus.pull import Pull
from shared.bus.slots import Slots

DURABLE = "moderation-question-asked"


class Broker:
    """Plays the client: notes what each partition was asked for."""

    def __init__(self) -> None:
        self.is_connected = True
        self.asked: dict[str, list[int]] = {}

    async def publish(self, subject: str, payload: bytes, *, reply: str) -> None:
        self.asked.setdefault(subject.split(".")[5], []).append(json.loads(payload)["batch"])


async def started(limit: int, partitions: int, step: int = 1) -> tuple[list[Pull], Broker, Slots]:
    slots, broker = Slots(limit, partitions), Broker()
    streams = ["QA", *(f"QA-{one}" for one in range(2, partitions + 1))]
    pulls = [Pull(DURABLE, f"inbox{stream}", slots, step, stream=stream) for stream in streams]
    for pull in pulls:
        await pull.start(cast("Client", broker))
    return pulls, broker, slots


async def test_every_partition_is_asked_for_its_share() -> None:
    _, broker, _ = await started(limit=32, partitions=4)

    assert broker.asked == {"QA": [8], "QA-2": [8], "QA-3": [8], "QA-4": [8]}


async def test_a_busy_partition_gets_the_slots_that_the_others_do_not_use() -> None:
    pulls, broker, slots = await started(limit=32, partitions=4, step=8)
    busy = pulls[0]
    for _ in range(32):
        busy.message_received()
        await busy.refill()

    assert sum(broker.asked["QA"]) == 32
    assert slots.held == 32


async def test_a_partition_without_credit_is_asked_when_another_one_frees_a_slot() -> None:
    pulls, broker, _ = await started(limit=2, partitions=2)
    for pull in pulls:
        pull.message_received()
    await pulls[0].message_finished()

    assert broker.asked == {"QA": [1, 1], "QA-2": [1, 1]}


@given(
    limit=st.integers(1, 40),
    partitions=st.integers(1, 6),
    moves=st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=200),
)
async def test_a_worker_never_holds_twice_its_limit(limit: int, partitions: int, moves: list[tuple[int, bool]]) -> None:
    pulls, broker, slots = await started(limit, partitions)
    streams, received = list(broker.asked), [0] * partitions
    for which, arrives in moves:
        index = which % partitions
        if arrives and received[index] < sum(broker.asked[streams[index]]):
            received[index] += 1
            pulls[index].message_received()
            await pulls[index].refill()
        elif not arrives and pulls[index].held:
            await pulls[index].message_finished()
        granted = sum(sum(broker.asked[stream]) - received[place] for place, stream in enumerate(streams))
        assert slots.held + granted < limit + max(limit, partitions) or partitions == 1
        assert slots.held + granted <= limit or partitions > 1


async def test_no_more_is_processed_at_once_than_there_are_slots() -> None:
    slots, running, most = Slots(3, 4), 0, 0

    async def process() -> None:
        nonlocal running, most
        async with slots.turn():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(process() for _ in range(12)))

    assert most == 3
