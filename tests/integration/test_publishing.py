"""Saying a fact: stored once, one ending a question, and an honest error when the bus will not have it."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from shared.bus import Connection, Publisher, publisher
from shared.bus.event_log import NatsEventLog
from shared.bus.ports import PublishResult
from shared.contracts import subjects
from shared.contracts.domain import Answer, Question
from shared.contracts.envelope import Event, following
from shared.contracts.errors import RefusedError, UnavailableError
from shared.contracts.facts import (
    AnswerVerified,
    Fact,
    QuestionAbandoned,
    QuestionApproved,
    QuestionRejected,
    QuestionWithdrawn,
)
from shared.runtime.settings import Settings
from tests.integration.rig import Rig, asked, until

pytestmark = pytest.mark.integration

WITHDRAWN = QuestionWithdrawn(by="client")
#: What three services may want to end the same question with at the same moment.
RIVALS: tuple[tuple[str, Fact], ...] = (
    ("gateway", WITHDRAWN),
    ("verifier", AnswerVerified(question=Question(text="?"), answer=Answer(content="Because."), engine="extractive")),
    ("answer", QuestionAbandoned(stage="answer", kind="expired", message="Sorry.")),
)


async def test_of_three_rivals_that_end_fifty_questions_at_once_one_wins_each(rig: Rig) -> None:
    await rig.provision()
    connections = [Connection(Settings(nats_url=rig.server.url), stage) for stage, _ in RIVALS]
    for connection in connections:
        await connection.open()
    events = [await rig.publish(asked(f"Question {number}?")) for number in range(50)]

    async def end(event: Event[Fact], number: int) -> PublishResult:
        stage, fact = RIVALS[number]
        sayer = Publisher(connections[number].broker, stage, budget=10, raw_ttl=60)
        return await sayer.publish(following(stage, fact, event))

    said = await asyncio.gather(*(end(event, number) for event in events for number in range(3)))
    for connection in connections:
        await connection.close()

    assert Counter(said) == {PublishResult.NEW: 50, PublishResult.REJECTED: 100}
    for event in events:
        assert len(await rig.facts(event.correlation_id)) == 2  # the question and its one ending


async def test_an_event_said_twice_is_stored_once(rig: Rig) -> None:
    await rig.provision()
    event = await rig.publish(asked())
    step = following("moderation", QuestionApproved(question=Question(text="?")), event)

    first = await rig.publisher("moderation").publish(step)
    again = await rig.publisher("moderation").publish(step)

    assert (first, again) == (PublishResult.NEW, PublishResult.DUPLICATE)
    assert await rig.facts(event.correlation_id) == ["QuestionAsked", "QuestionApproved"]


async def test_a_stored_event_has_our_headers_and_no_random_id_of_the_framework(rig: Rig) -> None:
    await rig.provision()
    connection = Connection(Settings(nats_url=rig.server.url), "moderation")
    await connection.open()
    event = await rig.publish(asked())
    step = following("moderation", QuestionApproved(question=Question(text="?")), event)
    await Publisher(connection.broker, "moderation", budget=10, raw_ttl=60).publish(step)
    stored = await connection.jetstream.get_last_msg(subjects.STREAM, step.subject)
    await connection.close()

    assert stored.headers is not None
    assert stored.headers["Nats-Msg-Id"] == step.event_id
    assert {name for name in stored.headers if not name.startswith("Nats-")} <= {"content-type"}


@pytest.mark.parametrize("ttl", ["", "1s"])
async def test_an_event_whose_id_was_used_by_another_is_told_and_not_taken_for_stored(rig: Rig, ttl: str) -> None:
    """Given an id that another service has occupied, also with an event that has expired since."""
    await rig.provision()
    event = await rig.publish(asked())
    step = following("moderation", QuestionApproved(question=Question(text="?")), event)
    foreign = subjects.event(QuestionWithdrawn, event.lane, event.correlation_id, 0)
    headers = {"Nats-Msg-Id": step.event_id} | ({"Nats-TTL": ttl} if ttl else {})
    await rig.client.jetstream().publish(foreign, b"{}", headers=headers)
    if ttl:
        jetstream = rig.client.jetstream()

        async def has_expired() -> bool:
            return (await jetstream.stream_info(subjects.STREAM)).state.messages == 1

        await until(has_expired, "the other event has expired")

    with pytest.raises(RefusedError, match=r"did not store QuestionApproved: its id was used"):
        await rig.publisher("moderation").publish(step)


async def test_an_ending_said_twice_is_known_as_ones_own(rig: Rig) -> None:
    """Given an ending whose acknowledgement was lost, when it is said again, then it counts as said and not as lost."""
    await rig.provision()
    event = await rig.publish(asked())
    ending = following("gateway", WITHDRAWN, event)

    first = await rig.publisher().publish(ending)
    again = await rig.publisher().publish(ending)

    assert (first, again) == (PublishResult.NEW, PublishResult.DUPLICATE)


async def test_a_replay_on_the_background_lane_has_an_ending_of_its_own(rig: Rig) -> None:
    await rig.provision()
    live = await rig.publish(asked())
    replay = await rig.publish(asked(correlation_id=live.correlation_id, lane="background", number=1))
    rejected = QuestionRejected(kind="off_topic", text="?", message="No.")

    said = [await rig.publisher().publish(following("moderation", rejected, event)) for event in (live, replay)]
    late = [await rig.publisher().publish(following("gateway", WITHDRAWN, event)) for event in (live, replay)]

    assert (said, late) == ([PublishResult.NEW, PublishResult.NEW], [PublishResult.REJECTED, PublishResult.REJECTED])


async def test_a_first_fact_is_stored_only_for_a_question_that_nobody_knows(rig: Rig) -> None:
    await rig.provision()
    event = asked("One?")
    rival = asked("Another?", correlation_id=event.correlation_id)

    assert await rig.publisher().publish(event, first=True) is PublishResult.NEW
    assert await rig.publisher().publish(event, first=True) is PublishResult.DUPLICATE
    assert (
        await rig.publisher().publish(rival.model_copy(update={"event_id": "other"}), first=True)
        is PublishResult.REJECTED
    )


async def test_a_first_fact_said_by_fifty_requests_at_once_is_stored_once(rig: Rig) -> None:
    """Given an idempotency key sent fifty times at once, each time with an event of its own, then one is stored."""
    await rig.provision()
    event = asked()
    copies = [event.model_copy(update={"event_id": f"request-{number}"}) for number in range(50)]

    said = await asyncio.gather(*(rig.publisher().publish(copy, first=True) for copy in copies))

    assert Counter(said) == {PublishResult.NEW: 1, PublishResult.REJECTED: 49}


async def test_without_a_stream_the_budget_runs_out_and_says_so(rig: Rig) -> None:
    with pytest.raises(UnavailableError, match=r"stored nothing for 0\.3 s"):
        await rig.publisher(budget=0.3).publish(asked())


async def test_without_a_server_the_budget_runs_out_and_says_so(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "PUBLISH_TIMEOUT", 0.2)
    await rig.provision()
    rig.server.kill()

    with pytest.raises(UnavailableError):
        await rig.publisher(budget=0.5).publish(asked())
    rig.server.start()
    await until(lambda: rig.signals.is_connected and rig.client.is_connected, "the bus is back")


async def test_a_publish_outlasts_a_restart_of_the_bus(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "PUBLISH_TIMEOUT", 0.5)
    await rig.provision()
    rig.server.kill()
    await until(lambda: not rig.signals.is_connected, "the loss is noticed")

    event = asked()
    saying = asyncio.create_task(rig.publisher(budget=20).publish(event))
    rig.server.start()

    assert await saying in (PublishResult.NEW, PublishResult.DUPLICATE)
    assert await rig.facts(event.correlation_id) == ["QuestionAsked"]


async def test_an_event_that_the_bus_never_takes_is_refused(rig: Rig) -> None:
    await rig.provision()
    with pytest.raises(RefusedError):
        await rig.publisher().publish(asked("x" * 9_000_000))


async def test_the_log_tells_a_biography_in_order_and_an_ending_at_once(rig: Rig) -> None:
    await rig.provision()
    log = NatsEventLog(lambda: rig.client)
    event, stranger = await rig.publish(asked()), await rig.publish(asked("Another?"))
    assert await log.ending(event.correlation_id) is None
    for number in range(3):
        question = Question(text=f"attempt {number}")
        step = following("moderation", QuestionApproved(question=question), event, number=number)
        await rig.publisher("moderation").publish(step)
    await rig.publish(following("gateway", WITHDRAWN, event))

    biography = await log.history(event.correlation_id)
    ending = await log.ending(event.correlation_id)

    assert [subjects.parse(one.subject).fact for one in biography] == [
        "QuestionAsked",
        "QuestionApproved",
        "QuestionApproved",
        "QuestionApproved",
        "QuestionWithdrawn",
    ]
    assert [one.sequence for one in biography] == sorted(one.sequence for one in biography)
    assert biography[0].decode() == event
    assert ending == biography[-1]
    assert await log.history("0" * 32) == []
    assert [one.decode() for one in await log.history(stranger.correlation_id)] == [stranger]


async def test_the_log_is_followed_live_with_the_sequence_it_has_in_the_history(rig: Rig) -> None:
    await rig.provision()
    log = NatsEventLog(lambda: rig.client)
    heard: list[tuple[str, int]] = []
    stop = await log.follow("live.qa.*.*.*.*", lambda event: heard.append((event.subject, event.sequence)))
    await rig.known()

    event = await rig.publish(asked())
    await rig.publish(following("gateway", WITHDRAWN, event))
    await until(lambda: len(heard) == 2, "both are heard")
    await stop()

    stored = await log.history(event.correlation_id)
    assert heard == [(one.subject, one.sequence) for one in stored]


async def test_a_log_without_a_bus_is_unavailable(rig: Rig) -> None:
    """Nothing was provisioned, so nobody answers a read."""
    with pytest.raises(UnavailableError):
        await NatsEventLog(lambda: rig.client).history("0" * 32)
