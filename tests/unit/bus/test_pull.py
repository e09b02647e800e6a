"""Credit: what was asked for and what is held never add up to more than there is room for."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus import pull as module
from shared.bus.background_throttle import BackgroundAllowance, BackgroundThrottle
from shared.bus.pull import Pull


class Broker:
    """Plays the client: notes the size of each request."""

    def __init__(self) -> None:
        self.is_connected = True
        self.asked: list[int] = []
        self.heard = asyncio.Event()

    async def publish(self, subject: str, payload: bytes, *, reply: str) -> None:
        assert subject == "$JS.API.CONSUMER.MSG.NEXT.QA.moderation-question-asked"
        assert reply == "inbox"
        self.asked.append(json.loads(payload)["batch"])
        self.heard.set()


def status(code: str, *, left: int | None = None) -> Msg:
    headers = {"Status": code, **({"Nats-Pending-Messages": str(left)} if left is not None else {})}
    return cast("Msg", SimpleNamespace(headers=headers, reply=""))


async def started(limit: int, step: int) -> tuple[Pull, Broker]:
    pull, broker = Pull("moderation-question-asked", "inbox", limit, step), Broker()
    await pull.start(cast("Client", broker))
    return pull, broker


async def test_a_pull_begins_by_asking_for_all_it_has_room_for() -> None:
    _, broker = await started(limit=8, step=2)

    assert broker.asked == [8]


async def test_a_slow_stage_asks_for_one_as_soon_as_one_is_done() -> None:
    pull, broker = await started(limit=2, step=1)
    pull.message_received()
    pull.message_received()

    await pull.message_finished()

    assert broker.asked == [2, 1]
    assert pull.held == 1


async def test_a_fast_stage_saves_requests_until_a_share_of_its_places_is_free() -> None:
    pull, broker = await started(limit=8, step=4)
    for _ in range(6):
        pull.message_received()

    for _ in range(3):
        await pull.message_finished()
    assert broker.asked == [8]  # three are free, two are still asked for

    await pull.message_finished()
    assert broker.asked == [8, 4]


async def test_a_request_that_ran_out_is_followed_by_another() -> None:
    pull, broker = await started(limit=4, step=2)
    pull.message_received()

    assert await pull.handle_if_status(status("408", left=3))

    assert broker.asked == [4, 3]


async def test_a_heartbeat_of_the_broker_means_nothing() -> None:
    pull, broker = await started(limit=4, step=2)

    assert await pull.handle_if_status(status("100"))

    assert broker.asked == [4]


async def test_a_message_is_no_status_even_when_it_has_such_a_header() -> None:
    pull, _ = await started(limit=4, step=2)
    plain = SimpleNamespace(headers={}, reply="$JS.ACK")
    odd = SimpleNamespace(headers={"Status": "408"}, reply="$JS.ACK")

    assert not await pull.handle_if_status(cast("Msg", plain))
    assert not await pull.handle_if_status(cast("Msg", odd))


async def test_a_pull_that_was_declined_asks_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)
    pull, broker = await started(limit=4, step=2)

    await pull.handle_if_status(status("409", left=4))
    assert broker.asked == [4]

    broker.heard.clear()
    await asyncio.wait_for(broker.heard.wait(), timeout=5)
    pull.stop()
    assert broker.asked == [4, 4]


async def test_a_stopped_pull_asks_for_nothing_more() -> None:
    pull, broker = await started(limit=2, step=1)
    pull.message_received()
    pull.stop()

    await pull.message_finished()
    await pull.reset()

    assert broker.asked == [2]


async def test_a_lost_connection_takes_the_requests_with_it_and_they_are_made_again() -> None:
    pull, broker = await started(limit=4, step=2)
    pull.message_received()
    broker.is_connected = False
    await pull.message_finished()
    assert broker.asked == [4]

    broker.is_connected = True
    await pull.reset()

    assert broker.asked == [4, 4]


async def test_a_request_that_was_never_answered_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pull, broker = await started(limit=4, step=2)
    await pull.renew_if_lost()
    assert broker.asked == [4]

    monkeypatch.setattr(module, "LOST_AFTER", -1.0)  # the time is up
    await pull.renew_if_lost()
    assert broker.asked == [4, 4]


@given(
    limit=st.integers(1, 20),
    step=st.integers(1, 20),
    steps=st.lists(st.sampled_from(["arrive", "done", "expire"]), max_size=60),
)
def test_what_is_held_and_what_may_come_never_exceed_the_limit(limit: int, step: int, steps: list[str]) -> None:
    """Played with a broker that sends no more than it was asked for, and gives back what is left of a request."""

    async def play() -> None:
        pull, broker = await started(limit, min(step, limit))
        sent = given_back = 0
        for what in steps:
            owed = sum(broker.asked) - sent - given_back
            if what == "arrive" and owed:
                sent += 1
                pull.message_received()
            elif what == "done" and pull.held:
                await pull.message_finished()
            elif what == "expire" and owed:
                given_back += owed
                await pull.handle_if_status(status("408", left=owed))
            owed = sum(broker.asked) - sent - given_back
            assert pull.held + owed <= limit
            assert pull.held or owed, "nothing is held and nothing may come: it would wait for ever"

    asyncio.run(play())


async def test_a_background_pull_asks_again_by_itself_when_live_work_allows_the_next() -> None:
    throttle = BackgroundThrottle(100)
    throttle.live_started()
    pull = Pull("moderation-question-asked", "inbox", 8, 2, background=BackgroundAllowance(throttle, 8))
    broker = Broker()
    await pull.start(cast("Client", broker))
    broker.heard.clear()
    pull.message_received()
    await pull.message_finished()

    await broker.heard.wait()
    assert broker.asked == [1, 1]
    pull.stop()
