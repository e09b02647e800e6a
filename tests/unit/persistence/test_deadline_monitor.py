"""The deadline watch, look by look, on a log in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.persistence.deadline_monitor import KEY, LEASE, DeadlineMonitor, MonitorLease
from shared.contracts.domain import Lane, PipelineRef, Question
from shared.contracts.envelope import IMPORTED, Event, following, opening
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import Fact, QuestionAbandoned, QuestionApproved, QuestionAsked, QuestionRejected
from shared.runtime.testing import MemoryLog
from shared.stores.memory import MemoryKeyValue

MARGIN = timedelta(seconds=1)


class Recorded:
    """A `Book` of ids."""

    def __init__(self, *ids: str, away: bool = False) -> None:
        self.ids = set(ids)
        self.away = away

    async def recorded(self, ids: list[str]) -> set[str]:
        if self.away:
            raise UnavailableError("the record is away")
        return self.ids & set(ids)


class Away(MemoryKeyValue):
    async def update(self, *_: object, **__: object) -> None:
        raise UnavailableError("away")


def watch(log: MemoryLog, *, name: str = "one", book: Recorded | None = None, notes: MemoryKeyValue | None = None):  # type: ignore[no-untyped-def]
    return DeadlineMonitor(name, log, book or Recorded(), log, notes or MemoryKeyValue())


async def ask(log: MemoryLog, *, deadline: float = 5.0, lane: Lane = Lane.LIVE) -> Event[QuestionAsked]:
    ref = PipelineRef(name="default", revision=1)
    event = opening("gateway", QuestionAsked(text="Why?"), pipeline=ref, deadline_seconds=deadline, lane=lane)
    await log.publish(event)
    return event


async def endings(log: MemoryLog, cid: str) -> list[Fact]:
    return [one.decode().payload for one in await log.history(cid) if one.terminal]


async def test_a_question_that_nobody_took_up_is_abandoned_after_its_deadline_and_the_silent_stage_is_named() -> None:
    log = MemoryLog()
    asked = await ask(log)
    watching = watch(log)

    await watching.check(asked.deadline - timedelta(seconds=0.1))
    assert await endings(log, asked.correlation_id) == []
    await watching.check(asked.deadline + MARGIN)

    (ending,) = await endings(log, asked.correlation_id)
    assert isinstance(ending, QuestionAbandoned)
    assert (ending.stage, ending.kind) == ("moderation", "deadline")


async def test_the_stage_named_is_the_one_that_heard_the_last_step() -> None:
    log = MemoryLog()
    asked = await ask(log, lane=Lane.BACKGROUND)
    question = Question(text="Why?", original="Why?", language="eng")
    await log.publish(following("moderation", QuestionApproved(question=question), asked))

    await watch(log).check(asked.deadline + MARGIN)

    (ending,) = await endings(log, asked.correlation_id)
    assert isinstance(ending, QuestionAbandoned)
    assert ending.stage == "translation"


async def test_what_has_an_ending_or_is_on_record_is_left_alone() -> None:
    log = MemoryLog()
    ended, recorded = await ask(log), await ask(log)
    await log.publish(following("moderation", QuestionRejected(kind="off_topic", text="", message="No."), ended))

    await watch(log, book=Recorded(recorded.correlation_id)).check(recorded.deadline + MARGIN)

    assert [type(one) for one in await endings(log, ended.correlation_id)] == [QuestionRejected]
    assert await endings(log, recorded.correlation_id) == []


async def test_without_the_record_the_log_alone_says_what_is_over() -> None:
    log = MemoryLog()
    ended, silent = await ask(log), await ask(log)
    await log.publish(following("moderation", QuestionRejected(kind="off_topic", text="", message="No."), ended))

    await watch(log, book=Recorded(away=True)).check(silent.deadline + MARGIN)

    assert [type(one) for one in await endings(log, ended.correlation_id)] == [QuestionRejected]
    assert [type(one) for one in await endings(log, silent.correlation_id)] == [QuestionAbandoned]
    assert log.rejected == []


async def test_a_question_is_looked_at_by_its_own_deadline_in_whatever_order_it_was_asked() -> None:
    log = MemoryLog()
    patient, hasty = await ask(log, deadline=600), await ask(log, deadline=1)
    watching = watch(log)

    await watching.check(hasty.deadline + MARGIN)
    assert await endings(log, hasty.correlation_id)
    assert not await endings(log, patient.correlation_id)
    await watching.check(patient.deadline + MARGIN)

    assert await endings(log, patient.correlation_id)


async def test_one_worker_watches_and_another_takes_over_where_it_was() -> None:
    log, notes = MemoryLog(), MemoryKeyValue()
    now = datetime.now(UTC)
    first, second = watch(log, name="first", notes=notes), watch(log, name="second", notes=notes)
    await first.check(now)
    asked = await ask(log, deadline=1)
    await first.check(now + timedelta(seconds=0.5))  # has read it, and dies

    await second.check(now + timedelta(seconds=2))
    assert not await endings(log, asked.correlation_id)
    later = now + timedelta(seconds=2 * LEASE)
    await second.check(later)

    assert await endings(log, asked.correlation_id)
    note = await notes.get(KEY)
    assert note is not None
    assert MonitorLease.model_validate_json(note).holder == "second"


async def test_the_note_never_passes_a_question_that_is_still_open() -> None:
    log, notes = MemoryLog(), MemoryKeyValue()
    asked = await ask(log, deadline=600)
    watching = watch(log, notes=notes)
    for seconds in range(0, 60, 2):
        await ask(log, deadline=1)
        await watching.check(datetime.now(UTC) + timedelta(seconds=seconds))

    note = await notes.get(KEY)
    assert note is not None
    assert MonitorLease.model_validate_json(note).since <= asked.occurred_at + timedelta(seconds=1)


async def test_without_the_notes_every_worker_watches_and_a_question_still_ends_once() -> None:
    log = MemoryLog()
    asked = await ask(log)
    for name in ("first", "second"):
        await watch(log, name=name, notes=Away()).check(asked.deadline + MARGIN)

    assert len(await endings(log, asked.correlation_id)) == 1


async def test_while_the_bus_is_away_nothing_is_forgotten() -> None:
    log = MemoryLog()
    asked = await ask(log)
    watching = watch(log)
    await watching.check(asked.occurred_at)
    log.unavailable = True
    with pytest.raises(UnavailableError):
        await watching.check(asked.deadline + MARGIN)
    log.unavailable = False

    await watching.check(asked.deadline + MARGIN)

    assert await endings(log, asked.correlation_id)


async def test_the_history_of_another_platform_is_no_open_question() -> None:
    log = MemoryLog()
    asked = await ask(log)
    log.stored.clear()
    await log.publish(asked.model_copy(update={"origin": IMPORTED, "event_id": "another"}))

    await watch(log).check(asked.deadline + MARGIN)

    assert not await endings(log, asked.correlation_id)
