"""How a worker holds its work: under a heartbeat, no more than it can do, and nothing lost when it or the bus stops."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest
from prometheus_client import REGISTRY

from cli.operations import bus
from shared.bus import StageConsumer
from shared.contracts.domain import Question
from shared.contracts.envelope import Event, following
from shared.contracts.errors import ConfigurationError
from shared.contracts.facts import Fact, QuestionApproved, QuestionAsked, QuestionWithdrawn
from shared.runtime.worker import Worker
from tests.integration.rig import Rig, asked, stage_of, until
from tests.support.speed import limit

pytestmark = pytest.mark.integration

DURABLE = "moderation-question-asked"


class Gate:
    """A handler that lets a test hold its work up, and remembers who came."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.started: list[str] = []
        self.finished: list[str] = []
        self.cancelled: list[str] = []
        self.inside = 0
        self.most = 0

    async def moderate(self, question: QuestionAsked) -> QuestionApproved:
        self.started.append(question.text)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.append(question.text)
            raise
        finally:
            self.inside -= 1
        self.finished.append(question.text)
        return QuestionApproved(question=Question(text=question.text))


async def approved(rig: Rig, events: Sequence[Event[Fact]]) -> None:
    """Until every one of the questions is approved."""
    for event in events:
        await rig.event(event.correlation_id, QuestionApproved)


async def test_a_handler_that_takes_three_times_the_ack_wait_is_not_given_to_another(rig: Rig) -> None:
    started: list[str] = []

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        started.append(question.text)
        await asyncio.sleep(3)
        return QuestionApproved(question=Question(text=question.text))

    stage = stage_of(moderate, slow=True)
    await rig.provision(stage, ack_wait_seconds=1)
    async with rig.worker(stage, ack_wait_seconds=1), rig.worker(stage, ack_wait_seconds=1):
        event = await rig.publish(asked())
        await rig.event(event.correlation_id, QuestionApproved)
        await rig.settled(DURABLE)

    assert started == ["Why is it so?"]
    assert not (await rig.info(DURABLE)).num_redelivered


async def test_work_of_a_worker_that_vanished_is_given_to_another_and_said_once(rig: Rig) -> None:
    """Given a worker that died between its publish and its ack, then the other one's publish is a duplicate."""
    gate = Gate()
    gate.open.set()
    stage = stage_of(gate.moderate)
    await rig.provision(stage, ack_wait_seconds=1)
    subscription = await rig.client.jetstream().pull_subscribe_bind(DURABLE, stream="QA")
    event = await rig.publish(asked())
    (message,) = await subscription.fetch(1, timeout=limit(5))
    before = following("moderation", QuestionApproved(question=Question(text="Why is it so?")), event)
    await rig.publisher("moderation").publish(before)  # ... and here it dies
    assert message.subject == event.subject

    async with rig.worker(stage, ack_wait_seconds=1):
        await until(lambda: gate.finished, "the second try")
        await rig.settled(DURABLE)

    assert await rig.facts(event.correlation_id) == ["QuestionAsked", "QuestionApproved"]
    assert (await bus.status(rig.client)).messages == 2


async def test_a_slow_stage_holds_no_more_than_it_works_on(rig: Rig) -> None:
    gate = Gate()
    stage = stage_of(gate.moderate, slow=True, concurrency=3)
    await rig.provision(stage)
    events = [await rig.publish(asked(f"Question {number}?")) for number in range(12)]
    async with rig.worker(stage) as worker:
        await until(lambda: len(gate.started) == 3, "three are at work")
        for _ in range(20):  # the broker has had every chance to send more
            info = await rig.info(DURABLE)
            assert (info.num_ack_pending, info.num_pending) == (3, 9)
        assert worker.consumer.in_flight == 3
        gate.open.set()
        await approved(rig, events)

    assert gate.most == 3


async def test_a_fast_stage_works_on_many_at_once_but_not_more_than_its_limit(rig: Rig) -> None:
    gate = Gate()
    stage = stage_of(gate.moderate)
    await rig.provision(stage)
    events = [await rig.publish(asked(f"Question {number}?")) for number in range(40)]
    async with rig.worker(stage, concurrency=16):
        await until(lambda: len(gate.started) == 16, "sixteen are at work")
        assert (await rig.info(DURABLE)).num_ack_pending == 16
        gate.open.set()
        await approved(rig, events)

    assert gate.most <= 16
    assert Counter(gate.finished) == {f"Question {number}?": 1 for number in range(40)}


async def test_two_workers_share_the_work_and_do_each_question_once(rig: Rig) -> None:
    one, other = Gate(), Gate()
    await rig.provision(stage_of(one.moderate))
    async with (
        rig.worker(stage_of(one.moderate), concurrency=4),
        rig.worker(stage_of(other.moderate), concurrency=4),
    ):
        events = [await rig.publish(asked(f"Question {number}?")) for number in range(20)]
        await until(lambda: len(one.started) == len(other.started) == 4, "both are full")
        one.open.set()
        other.open.set()
        await approved(rig, events)

    assert Counter(one.finished + other.finished) == {f"Question {number}?": 1 for number in range(20)}


async def test_a_stopping_worker_lets_running_work_finish(rig: Rig) -> None:
    gate = Gate()
    stage = stage_of(gate.moderate)
    await rig.provision(stage, ack_wait_seconds=30)
    async with rig.worker(stage, ack_wait_seconds=30) as worker:
        event = await rig.publish(asked())
        await until(lambda: gate.started, "it is at work")
        stopping = asyncio.create_task(worker.stop())
        await until(lambda: worker.not_ready() == "starting", "it takes no more")
        gate.open.set()
        await stopping

    assert gate.cancelled == []
    assert await rig.facts(event.correlation_id) == ["QuestionAsked", "QuestionApproved"]
    info = await rig.info(DURABLE)
    assert (info.num_pending, info.num_ack_pending, info.num_redelivered) == (0, 0, 0)


async def test_what_a_stopping_worker_cannot_finish_is_with_another_at_once(rig: Rig) -> None:
    """Given an ack wait of 30 s, then the work is handed back within about a second all the same."""
    stuck, healthy = Gate(), Gate()
    healthy.open.set()
    await rig.provision(stage_of(stuck.moderate), ack_wait_seconds=30)
    first = Worker(stage_of(stuck.moderate), rig.settings(ack_wait_seconds=30, graceful_seconds=0.1, concurrency=8))
    await first.start()
    events = [await rig.publish(asked(f"Question {number}?")) for number in range(8)]
    await until(lambda: len(stuck.started) == 8, "all are held")

    async with rig.worker(stage_of(healthy.moderate), ack_wait_seconds=30):
        began = time.monotonic()
        await first.stop()
        await approved(rig, events)
        took = time.monotonic() - began

    assert len(stuck.cancelled) == 8
    assert sorted(healthy.finished) == sorted(f"Question {number}?" for number in range(8))
    assert took < limit(5), "they came by themselves, not by being handed back"


async def test_nothing_waits_for_the_ack_wait_when_workers_are_replaced_under_load(rig: Rig) -> None:
    finished: Counter[str] = Counter()

    async def moderate(question: QuestionAsked) -> QuestionApproved:
        finished[question.text] += 1
        return QuestionApproved(question=Question(text=question.text))

    stage = stage_of(moderate)
    await rig.provision(stage, ack_wait_seconds=60)
    began = time.monotonic()
    asking = asyncio.create_task(_ask(rig, 300))
    for _ in range(3):
        already = len(finished)
        async with rig.worker(stage, ack_wait_seconds=60, concurrency=32):
            await until(partial(_more_than, finished, already + 50), "this worker has worked")
    async with rig.worker(stage, ack_wait_seconds=60):
        await approved(rig, await asking)
        await rig.settled(DURABLE)

    assert time.monotonic() - began < limit(30)
    assert set(finished.values()) == {1}


def _more_than(finished: Counter[str], number: int) -> bool:
    return len(finished) > number


async def _ask(rig: Rig, count: int) -> Sequence[Event[Fact]]:
    publisher = rig.publisher()
    events = [asked(f"Question {number}?") for number in range(count)]
    for event in events:
        await publisher.publish(event)
    return events


async def test_queued_work_of_a_withdrawn_question_is_dropped_and_running_work_cancelled(rig: Rig) -> None:
    gate = Gate()
    stage = stage_of(gate.moderate, slow=True, concurrency=1)
    await rig.provision(stage)
    labels = {"stage": "moderation", "reason": "withdrawn"}
    before = REGISTRY.get_sample_value("answerbus_dropped_total", labels) or 0
    async with rig.worker(stage):
        running = await rig.publish(asked("Running?"))
        await until(lambda: gate.started == ["Running?"], "the first is at work")
        queued, kept = await rig.publish(asked("Queued?")), await rig.publish(asked("Kept?"))
        for event in (queued, running):
            await rig.publish(following("gateway", QuestionWithdrawn(by="client"), event))
        await until(lambda: gate.started == ["Running?", "Kept?"], "the third is at work")
        gate.open.set()
        await approved(rig, [kept])
        await rig.settled(DURABLE)

    assert gate.cancelled == ["Running?"]
    assert gate.finished == ["Kept?"]
    assert await rig.facts(running.correlation_id) == ["QuestionAsked", "QuestionWithdrawn"]
    assert await rig.facts(queued.correlation_id) == ["QuestionAsked", "QuestionWithdrawn"]
    assert REGISTRY.get_sample_value("answerbus_dropped_total", labels) == before + 1
    assert await rig.dead() == []


async def test_a_worker_goes_on_when_the_bus_was_killed_and_is_back(rig: Rig) -> None:
    """Given work in hand when the bus dies, then its fact is said when the bus is back, and new work is taken."""
    gate = Gate()
    stage = stage_of(gate.moderate)
    await rig.provision(stage, ack_wait_seconds=2)
    async with rig.worker(stage, ack_wait_seconds=2) as worker:
        before = await rig.publish(asked("Before?"))
        await until(lambda: gate.started, "it is at work")
        rig.server.kill()
        await until(lambda: not worker.connection.is_connected, "the loss is noticed")
        assert worker.not_ready() == "NATS is unavailable"
        gate.open.set()
        rig.server.start()
        await until(lambda: worker.connection.is_connected and rig.signals.is_connected, "the bus is back")
        after = await rig.publish(asked("After?"))
        await approved(rig, [before, after])
        await rig.settled(DURABLE)

    assert await rig.facts(before.correlation_id) == ["QuestionAsked", "QuestionApproved"]


async def test_a_worker_can_be_stopped_while_the_bus_is_away(rig: Rig) -> None:
    gate = Gate()
    stage = stage_of(gate.moderate)
    await rig.provision(stage)
    worker = Worker(stage, rig.settings(graceful_seconds=0.5))
    await worker.start()
    rig.server.kill()
    await until(lambda: not worker.connection.is_connected, "the loss is noticed")

    await asyncio.wait_for(worker.stop(), timeout=limit(10))

    rig.server.start()
    await until(lambda: rig.signals.is_connected and rig.client.is_connected, "the bus is back")


async def test_a_worker_waits_for_its_durables_and_works_when_they_are_there(rig: Rig) -> None:
    gate = Gate()
    gate.open.set()
    stage = stage_of(gate.moderate)
    await rig.provision()
    worker = Worker(stage, rig.settings())
    starting = asyncio.create_task(worker.start())
    await until(lambda: worker.connection.is_connected, "it is connected")
    assert worker.not_ready() == "starting"

    await rig.provision(stage)
    await starting
    event = await rig.publish(asked())
    await approved(rig, [event])
    await worker.stop()


async def test_a_worker_without_its_durable_names_the_remedy(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StageConsumer._check_durables, "__defaults__", (0.0,))
    await rig.provision()
    worker = Worker(stage_of(Gate().moderate), rig.settings())

    with pytest.raises(ConfigurationError, match="no durable moderation-question-asked; run: answerbus bus provision"):
        await worker.start()
    await worker.stop()


async def test_a_lane_has_its_own_durable_so_that_background_work_delays_nobody(rig: Rig) -> None:
    gate = Gate()
    stage = stage_of(gate.moderate, slow=True, concurrency=1)
    await rig.provision(stage)
    async with rig.worker(stage):
        await rig.publish(asked("Background?", lane="background"))
        await until(lambda: gate.started == ["Background?"], "the background is full")
        live = await rig.publish(asked("Live?"))
        await until(lambda: "Live?" in gate.started, "the live question is worked on beside it")
        gate.open.set()
        await approved(rig, [live])
