"""A log of four partitions on a real server: reading, ending, erasing, limits, and changes of their number."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.host.catalogue import stages
from cli.operations import bus
from services.persistence.app import build as persistence
from shared.bus.dead_letters import NatsDeadLetters
from shared.bus.eraser import NatsEraser
from shared.bus.ports import PublishResult, StoredEvent
from shared.bus.stage_durables import NatsStageDurables
from shared.contracts import subjects
from shared.contracts.domain import Lane, Question
from shared.contracts.envelope import Event, following, new_correlation_id
from shared.contracts.errors import ConfigurationError
from shared.contracts.facts import QuestionAbandoned, QuestionApproved, QuestionAsked, QuestionWithdrawn
from shared.contracts.partitions import partition_of, places_of
from shared.runtime.settings import Settings
from tests.integration.rig import LOG_BYTES, Rig, asked, stage_of, until
from tests.integration.test_max_deliveries import build_moderation, build_persistence, deliver_in_vain
from tests.support.servers import nats_server

pytestmark = pytest.mark.integration

PARTITIONS = 4


async def approve(asked: QuestionAsked) -> QuestionApproved:
    return QuestionApproved(question=Question(text=asked.text))


@pytest.fixture
async def rig(rig: Rig) -> Rig:
    rig.options["partitions"] = PARTITIONS
    return rig


def asked_in(partition: int, **fields: Any) -> Event[QuestionAsked]:
    """A question whose id belongs to this partition."""
    while partition_of(cid := new_correlation_id(), PARTITIONS) != partition:
        pass
    return asked(correlation_id=cid, partition=partition, **fields)


async def test_events_since_a_moment_come_in_the_order_in_which_they_were_stored(rig: Rig) -> None:
    await rig.provision()
    live: list[StoredEvent] = []
    stop = await rig.log.follow(subjects.live(subjects.everything(Lane.LIVE)), live.append)
    await rig.known()
    before = datetime.now(UTC) - timedelta(minutes=1)
    published = [await rig.publish(asked_in(1 + number % PARTITIONS)) for number in range(24)]
    await until(lambda: len(live) == len(published))

    everything = [one async for one in rig.log.since(subjects.everything(), before)]
    third = [one async for one in rig.log.since(subjects.everything(Lane.LIVE), before, 3)]

    assert [one.correlation_id for one in everything] == [event.correlation_id for event in published]
    assert everything == sorted(everything, key=lambda one: one.time)
    assert [one.correlation_id for one in third] == [event.correlation_id for event in published[2::PARTITIONS]]
    assert [one.sequence for one in third] == list(range(1, 7))
    assert {one.correlation_id: one.partition for one in live} == {
        event.correlation_id: event.partition for event in published
    }
    await stop()


async def test_a_question_of_fewer_partitions_is_found_where_it_is_and_ends_there_once(rig: Rig) -> None:
    await rig.provision()
    moved = asked_in(4)
    first = moved.model_copy(update={"partition": places_of(moved.correlation_id, PARTITIONS)[-1]})
    await rig.publish(first)
    withdrawn = following("gateway", QuestionWithdrawn(by="asker"), first)
    abandoned = following("moderation", QuestionAbandoned(stage="moderation", kind="expired", message="late"), first)

    results = [await rig.publisher().publish(withdrawn), await rig.publisher("moderation").publish(abandoned)]

    assert results == [PublishResult.NEW, PublishResult.REJECTED]
    assert [one.partition for one in await rig.log.history(first.correlation_id)] == [1, 1]
    ending = await rig.log.ending(first.correlation_id)
    assert ending is not None
    assert ending.decode() == withdrawn


async def test_a_worker_processes_all_partitions_and_no_more_at_once_than_its_limit(rig: Rig) -> None:
    running, most, done = 0, 0, Counter[int]()
    gate = asyncio.Event()

    async def slowly(asked: QuestionAsked) -> QuestionApproved:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await gate.wait()
        running -= 1
        done[int(asked.text)] += 1
        return await approve(asked)

    await rig.provision(stage_of(slowly))
    async with rig.worker(stage_of(slowly), concurrency=3):
        for number in range(40):
            await rig.publish(asked_in(1 + number % PARTITIONS, text=str(1 + number % PARTITIONS)))
        await until(lambda: running == 3)
        gate.set()
        await until(lambda: done.total() == 40)
        durables = await NatsStageDurables(lambda: rig.client, PARTITIONS).all()

    assert most == 3
    assert done == dict.fromkeys(range(1, PARTITIONS + 1), 10)
    live = [one for one in durables if one.lane == Lane.LIVE]
    assert [one.partition for one in live] == [1, 2, 3, 4]


async def test_one_busy_partition_gets_all_slots_of_a_worker(rig: Rig) -> None:
    """As the first one has when partitions were just added."""
    running = 0
    gate = asyncio.Event()

    async def slowly(asked: QuestionAsked) -> QuestionApproved:
        nonlocal running
        running += 1
        await gate.wait()
        return await approve(asked)

    await rig.provision(stage_of(slowly))
    async with rig.worker(stage_of(slowly), concurrency=8):
        for _ in range(12):
            await rig.publish(asked_in(1))
        await until(lambda: running == 8)
        gate.set()
        await until(lambda: running == 12)


async def test_overdue_questions_of_every_partition_are_ended_by_the_deadline_monitor(rig: Rig, tmp_path: Path) -> None:
    await bus.provision(rig.client, rig.settings(), stages(rig.settings()))
    async with rig.worker(persistence, data_dir=tmp_path):
        for number in range(2 * PARTITIONS):
            event = await rig.publish(asked_in(1 + number % PARTITIONS, deadline=0.3))
            ending = await rig.event(event.correlation_id, QuestionAbandoned)
            assert (ending.partition, ending.payload.stage) == (event.partition, "moderation")  # type: ignore[attr-defined]


async def test_a_question_of_another_partition_whose_workers_all_died_on_it_is_abandoned(rig: Rig) -> None:
    rig.options |= {"ack_wait_seconds": 1, "max_deliveries": 2}
    await rig.provision(build_moderation, build_persistence)
    event = await rig.publish(asked_in(3))
    await deliver_in_vain(rig.client, "moderation-question-asked", 2, subjects.stream(3))

    async with rig.worker(build_persistence):
        ending = await rig.event(event.correlation_id, QuestionAbandoned)
        (letter,) = await until(rig.dead)

    assert isinstance(ending.payload, QuestionAbandoned)
    assert ending.payload.kind == "max_deliveries"
    assert letter.data == event.encode()
    assert (letter.headers or {})["Answerbus-Subject"] == event.subject


async def test_a_question_is_erased_from_every_place_where_it_can_be(rig: Rig) -> None:
    await rig.provision()
    event = asked_in(4)
    places = places_of(event.correlation_id, PARTITIONS)
    for place in places:  # as two gateways might that fill different numbers of partitions
        await rig.publish(event.model_copy(update={"partition": place}))
    raw = [await rig.publish(asked_in(partition)) for partition in (1, 2, 3, 4)]
    eraser = NatsEraser(rig.client.jetstream, rig.log, NatsDeadLetters(rig.client.jetstream))

    erased = await eraser.erase_question(event.correlation_id)
    texts = await eraser.erase_raw_text(datetime.now(UTC) + timedelta(minutes=1))

    assert erased.events == len(places) > 1
    assert texts.events == len(raw)
    assert [await rig.stored(one.correlation_id) for one in (event, *raw)] == [[]] * 5


async def test_partitions_are_added_beside_what_is_there_and_taken_away_when_they_are_empty(rig: Rig) -> None:
    first = await rig.provision(stage_of(approve), partitions=1)
    event = await rig.publish(asked())
    added = await rig.provision(stage_of(approve))
    again = await rig.provision(stage_of(approve))
    await rig.publish(asked_in(3))
    with pytest.raises(ConfigurationError, match="QA-3 has 1 events"):
        await rig.provision(stage_of(approve), partitions=2)
    found = await rig.facts(event.correlation_id)
    await rig.client.jetstream().purge_stream(subjects.stream(3))
    removed = await rig.provision(stage_of(approve), partitions=2)

    assert "QA-2" not in first
    assert added["QA"] == "updated"  # its share of the log's size
    assert {added[stream] for stream in ("QA-2", "QA-3", "QA-4")} == {"created"}
    assert added["moderation-question-asked"] == "unchanged"
    assert added["QA-4 moderation-question-asked"] == "created"
    assert set(again.values()) == {"unchanged"}
    assert (removed["QA-3"], removed["QA-4"]) == ("removed", "removed")
    assert found == ["QuestionAsked"]
    assert (await bus.status(rig.client)).partitions == 2


async def test_partitions_fit_where_one_log_does(tmp_path: Path) -> None:
    """NATS reserves the size of every stream: what one partition gives up must be free before the next is made."""
    config = tmp_path / "nats.conf"
    config.write_text(f"jetstream {{ max_file_store: {LOG_BYTES + 2**20} }}")
    with nats_server(tmp_path, config=config) as server:
        async with bus.connected(Settings(nats_url=server.url)) as client:

            async def provision(partitions: int, log_bytes: int = LOG_BYTES) -> int | None:
                settings = Settings(nats_url=server.url, partitions=partitions, max_log_bytes=log_bytes)
                await bus.provision(client, settings, [])
                return (await client.jetstream().stream_info(subjects.stream(partitions))).config.max_bytes

            sizes = [await provision(partitions) for partitions in (1, 2, 4, 2, 1)]
            with pytest.raises(ConfigurationError, match="set ANSWERBUS_MAX_LOG_BYTES to less"):
                await provision(1, 2 * LOG_BYTES)

    assert sizes == [LOG_BYTES // partitions for partitions in (1, 2, 4, 2, 1)]


async def test_a_partition_that_is_fuller_than_its_share_keeps_what_it_has(rig: Rig) -> None:
    options = {"max_log_bytes": 8 * 2**20}
    await rig.provision(partitions=1, **options)
    events = [await rig.publish(asked("x" * 100_000)) for _ in range(40)]

    await rig.provision(**options)
    sizes = [
        (await rig.client.jetstream().stream_info(stream)).config.max_bytes for stream in subjects.streams(PARTITIONS)
    ]

    assert sizes[1:] == [2 * 2**20] * 3
    assert await rig.facts(events[0].correlation_id) == ["QuestionAsked"]


async def test_a_worker_for_more_partitions_than_there_are_says_what_to_do(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.provision(stage_of(approve), partitions=2)
    monkeypatch.setattr("shared.bus.consumer.StageConsumer._check_durables.__defaults__", (0.1,))

    with pytest.raises(ConfigurationError, match=r"on QA-3 .ANSWERBUS_PARTITIONS=4.; run: answerbus bus provision"):
        async with rig.worker(stage_of(approve)):
            pass
