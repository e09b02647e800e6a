"""A question's stream over a log that keeps everything and a live feed that does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.gateway.streaming import stream
from services.gateway.streaming.presenter import QuestionPresenter
from services.gateway.streaming.stream import Frame
from shared.bus.ports import StoredEvent
from shared.contracts.domain import Lane
from shared.contracts.signals import Token
from tests.unit.gateway.harness import CID, asked, last_id, read, run, signal, stored
from tests.unit.gateway.lossy_feed import DELIVERED, LATE, LOST, TWICE, UNREADABLE, LossyFeed


@pytest.fixture(scope="module", autouse=True)
def impatient() -> Iterator[None]:
    """Silence is short here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "REREAD_AFTER", 0.01)
        yield


async def collect(frames: AsyncGenerator[Frame, None]) -> list[Frame]:
    return [frame async for frame in frames]


def undisturbed(events: list[StoredEvent]) -> list[Frame]:
    presenter = QuestionPresenter()
    return [frame for one in events for frame in presenter.fact(one.decode(), one.sequence)]


def others(frames: list[Frame]) -> list[tuple[str, Any]]:
    return [(frame.event, frame.data) for frame in frames if frame.event not in ("token", "reset")]


async def follow(published: list[tuple[StoredEvent, str]]) -> list[Frame]:
    """What a client gets who asked, and then follows the rest live."""
    wire = LossyFeed()
    await wire.feed.open()
    (first, _), *rest = published
    wire.keep(first)
    reader = asyncio.create_task(collect(wire.frames()))
    for one, how in rest:
        await asyncio.sleep(0)  # lets the reader work; no time passes
        wire.publish(one, how)
    frames = await reader
    assert wire.feed.watchers == 0
    await wire.feed.close()
    return frames


WAYS = st.sampled_from((DELIVERED, LOST, TWICE, LATE))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_facts_that_are_lost_doubled_or_late_give_the_same_frames(data: st.DataObject) -> None:
    events = stored(run(*data.draw(st.sampled_from((("At eight.",), ("At eight.", "From nine."))))))
    way = st.sampled_from((DELIVERED, LOST, TWICE, LATE, UNREADABLE))

    frames = asyncio.run(follow([(one, data.draw(way)) for one in events]))

    assert frames == undisturbed(events)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_tokens_among_lost_doubled_and_late_facts_always_add_up_to_the_draft(data: st.DataObject) -> None:
    drafts = ("At eight.", "From nine till noon.")
    events = stored(run(*drafts))
    published: list[tuple[StoredEvent, str]] = []
    for one in events:
        event = one.decode()
        if event.fact == "AnswerDrafted":
            content = drafts[event.attempt]
            for offset in range(0, len(content), 3):
                token = Token(attempt=event.attempt, offset=offset, text=content[offset : offset + 3])
                published.append((signal(token), data.draw(WAYS)))
        published.append((one, data.draw(WAYS)))

    frames = asyncio.run(follow(published))

    assert others(frames) == others(undisturbed(events))
    assert read(frames).text == drafts[-1]


async def test_a_finished_question_is_shown_from_the_log_alone() -> None:
    wire = LossyFeed()
    events = stored(run("At eight."))
    wire.keep(*events)

    assert await collect(wire.frames()) == undisturbed(events)


async def test_a_client_that_comes_back_gets_what_it_has_not_seen() -> None:
    wire = LossyFeed()
    wire.keep(*stored(run("At eight.")))
    whole = await collect(wire.frames())

    for number, frame in enumerate(whole, start=1):
        assert await collect(wire.frames(frame.id)) == whole[number:]


async def test_an_event_that_cannot_be_read_hides_no_other() -> None:
    wire = LossyFeed()
    events = stored(run("At eight."))
    broken = StoredEvent(events[1].subject, events[1].sequence, events[1].time, b"{}")
    wire.keep(events[0], broken, *events[2:])

    assert await collect(wire.frames()) == undisturbed([events[0], *events[2:]])


async def test_tokens_are_not_shown_before_the_history_was_read() -> None:
    """A client that has read the first draft must not get the second one behind it."""
    wire = LossyFeed()
    await wire.feed.open()
    events = stored(run("At eight.", "From nine."))
    refuted = next(at for at, one in enumerate(events) if one.decode().fact == "AnswerRefuted")
    before = undisturbed(events[: refuted + 1])
    wire.keep(*events[: refuted + 1])
    wire.log.unavailable = True
    reader = asyncio.create_task(collect(wire.frames(last_id(before))))
    await asyncio.sleep(0)

    wire.publish(signal(Token(attempt=1, offset=0, text="From")))
    await asyncio.sleep(0)
    wire.log.unavailable = False
    for one in events[refuted + 1 :]:
        wire.publish(one)

    assert read(await reader, read(before)).text == "From nine."


async def test_a_question_whose_deadline_has_passed_gets_a_result_that_says_so() -> None:
    wire = LossyFeed()
    wire.keep(*stored([asked(deadline=-5)]))

    status, *guard = await collect(wire.frames())

    assert status.data["status"] == "MODERATING_QUESTION"
    assert [frame.event for frame in guard] == ["status", "result"]
    assert guard[-1].data.ending.error["kind"] == "deadline"
    assert guard[-1].id == ""


async def test_the_deadline_is_kept_while_the_bus_is_away() -> None:
    wire = LossyFeed()
    wire.keep(*stored([asked(deadline=-5)]))
    frames = wire.frames()
    async with aclosing(frames):
        await anext(frames)
        wire.log.unavailable = True

        rest = [frame async for frame in frames]

    assert rest[-1].data.ending.outcome == "abandoned"


async def test_an_ending_found_at_the_deadline_is_shown_instead_of_the_guard() -> None:
    wire = LossyFeed()
    events = stored(run("At eight.", deadline=-5))
    wire.keep(events[0])
    frames = wire.frames()
    async with aclosing(frames):
        first = await anext(frames)
        wire.keep(*events[1:])

        rest = [frame async for frame in frames]

    assert [first, *rest] == undisturbed(events)


async def test_the_guard_waits_out_the_grace_after_the_deadline() -> None:
    wire = LossyFeed()
    event = asked(deadline=-stream.GRACE + 0.05)
    wire.keep(*stored([event]))

    frames = await collect(wire.frames())

    assert frames[-1].data.ending.error["kind"] == "deadline"
    assert time.time() >= event.deadline.timestamp() + stream.GRACE


async def test_a_reader_too_slow_for_its_queue_is_cut_off_and_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "QUEUE_LIMIT", 3)
    wire = LossyFeed()
    await wire.feed.open()
    events = stored(run("At eight."))
    wire.keep(events[0])
    frames = wire.frames()
    before = [await anext(frames)]
    for offset, letter in enumerate("At eight."):
        wire.publish(signal(Token(attempt=0, offset=offset, text=letter)))

    before += [frame async for frame in frames]
    wire.keep(*events[1:])
    after = await collect(wire.frames(last_id(before)))

    assert others(before) == others(undisturbed(events[:1]))
    assert others(after) == others(undisturbed(events))[1:]
    assert read(after, read(before)).text == "At eight."
    assert wire.feed.watchers == 0


async def test_facts_missing_because_of_a_full_queue_are_read_from_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "QUEUE_LIMIT", 3)
    wire = LossyFeed()
    await wire.feed.open()
    events = stored(run("At eight."))
    wire.keep(events[0])
    frames = wire.frames()
    before = [await anext(frames)]
    for one in events[1:]:
        wire.publish(one)

    assert before + [frame async for frame in frames] == undisturbed(events)


async def test_streams_end_without_a_result_when_the_gateway_stops() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    wire.keep(*stored([asked()]))
    frames = wire.frames()
    await anext(frames)

    await wire.feed.close()

    assert [frame async for frame in frames] == []


async def test_every_stream_of_a_question_hears_it_and_no_other_question() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    mine, too, other = wire.feed.watch(CID), wire.feed.watch(CID), wire.feed.watch("f" * 32)
    stops = [await wire.feed.follow(CID, queue, Lane.LIVE) for queue in (mine, too)]

    (one,) = stored([asked()])
    wire.publish(one)
    wire.publish(signal(Token(attempt=0, offset=0, text="At")))

    assert mine.qsize() == too.qsize() == 2
    assert other.empty()
    assert wire.feed.watchers == 3
    for stop in stops:
        await stop()
    wire.feed.forget(CID, mine)
    wire.feed.forget(CID, mine)
    assert wire.feed.watchers == 2


async def test_who_waits_for_an_ending_hears_that_alone_and_once() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    waiting, streaming = wire.feed.watch(CID), wire.feed.watch(CID)
    stop = await wire.feed.follow(CID, streaming, Lane.LIVE)

    events = stored(run("At eight."))
    for one in events:
        wire.publish(one)

    assert waiting.qsize() == 1
    assert waiting.get_nowait() == events[-1]
    assert [streaming.get_nowait() for _ in range(streaming.qsize())] == events
    await stop()


async def test_a_gateway_follows_a_question_only_while_it_is_streamed() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    idle = wire.log.following
    wire.keep(*stored([asked()]))
    frames = wire.frames()

    await anext(frames)
    assert wire.log.following == sorted([*idle, f"live.qa.*.*.{CID}.*"])
    await frames.aclose()

    assert wire.log.following == idle
    assert not any(subject.endswith(".*.*.*.*") for subject in idle)


async def test_a_question_of_the_other_lane_is_heard_there() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    idle = wire.log.following
    events = stored(run("At eight.", lane=Lane.BACKGROUND))
    wire.keep(events[0])
    reader = asyncio.create_task(collect(wire.frames()))
    await asyncio.sleep(0)
    followed = wire.log.following
    for one in events[1:]:
        wire.publish(one)

    assert await reader == undisturbed(events)
    assert followed == sorted([*idle, f"live.bg.*.*.{CID}.*"])
    assert wire.log.following == idle


async def test_a_stream_goes_on_with_the_log_where_its_facts_cannot_be_heard() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    events = stored(run("At eight."))
    wire.keep(events[0])
    wire.log.deaf = True
    frames = wire.frames()
    before = [await anext(frames)]
    wire.keep(*events[1:])

    assert before + [frame async for frame in frames] == undisturbed(events)


async def test_everything_is_heard_while_somebody_listens() -> None:
    wire = LossyFeed()
    await wire.feed.open()
    idle = wire.log.following
    heard: list[StoredEvent] = []
    events = stored(run("At eight."))

    await wire.feed.listen(heard.append)
    await wire.feed.listen(print)
    assert wire.log.following == sorted([*idle, "live.bg.*.*.*.*", "live.qa.*.*.*.*"])
    for one in events:
        wire.publish(one)
    wire.feed.unlisten(print)
    assert wire.log.following != idle
    wire.feed.unlisten(heard.append)
    await asyncio.sleep(0)

    assert wire.log.following == idle
    wire.publish(events[0])
    assert heard == events
    await wire.feed.close()
