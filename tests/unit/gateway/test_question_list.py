"""The list of questions over HTTP: running and ended ones, its filters, pages and changes, and one explained."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from services.gateway.operators.question_board import ENDED_SECONDS, IDLE, QuestionBoard
from services.gateway.streaming.stream import LiveFeed
from services.persistence import projection
from services.persistence.ports import Feedback
from shared.contracts.domain import Lane
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact, FeedbackGiven, QuestionRejected, QuestionWithdrawn
from shared.history.question_lines import QuestionFilter
from shared.history.replay_plan import again
from tests.support.memory_bus import MemoryBus
from tests.support.record_stage import record_stage
from tests.support.records import NOON, question_id, said, sqlite_record, verified
from tests.support.speed import limit
from tests.unit.gateway.harness import CID, QUESTION, RunningGateway, asked, run, running_gateway, then

KEYS = "web:client:client-key-0123456789,ops:operator:operator-key-012345,far:operator:far-key-0123456789"
LIST = "/api/v1/questions"
NDJSON = {"Accept": "application/x-ndjson"}


@asynccontextmanager
async def listed(count: int = 0, *events: Event[Any], **settings: Any) -> AsyncIterator[RunningGateway]:
    """A gateway beside a persistence that has recorded so many answers, and these endings.

    Each answer is of a second after the one before; the first was rated.
    """
    answers = [
        said(verified(f"Question {number}?"), question=question_id(number), at=NOON + timedelta(seconds=number))
        for number in range(count)
    ]
    rating = Feedback(
        event_id="f", exchange_id=question_id(0), rating=-1, reason="", comment="", by="b", at=NOON
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        async with sqlite_record(Path(folder)) as record, running_gateway(**settings) as here:
            for event in (*answers, *events):
                await record.save(projection.exchange(event.payload, event))
            await record.save(rating)
            here.bus.stages.append(record_stage(record, here.bus.context()))
            yield here


async def page(http: httpx.AsyncClient, **wanted: Any) -> dict[str, Any]:
    reply = await http.get(LIST, params=wanted)
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def ids(http: httpx.AsyncClient, **wanted: Any) -> list[str]:
    return [one["id"] for one in (await page(http, **wanted))["questions"]]


def running(number: int, text: str = QUESTION.text) -> list[Event[Fact]]:
    """The first events of a question that waits for its answer."""
    events = run("")[:4]
    cid = f"{number:032x}"
    return [
        one.model_copy(
            update={
                "correlation_id": cid,
                "event_id": f"{cid}{place}",
                "occurred_at": one.occurred_at + timedelta(seconds=number),
            }
        )
        for place, one in enumerate(events)
    ]


async def test_questions_that_run_come_first_then_those_that_ended_the_newest_first() -> None:
    async with listed(3) as here:
        await here.publish(*running(1), *running(2))

        body = await page(here.http)

    lines = body["questions"]
    assert [one["id"] for one in lines] == [f"{2:032x}", f"{1:032x}", *(question_id(n) for n in (2, 1, 0))]
    assert [(one["status"], one["stage"], one["fact"]) for one in lines[:3]] == [
        ("running", "answer", "PassagesRetrieved"),
        ("running", "answer", "PassagesRetrieved"),
        ("ended", "", ""),
    ]
    assert (lines[-1]["feedback_down"], lines[-1]["answer"], body["after"]) == (1, "You renew online.", "")


async def test_pages_go_through_all_questions_once_whatever_their_size() -> None:
    async with listed(5) as here:
        await here.publish(*(event for number in range(1, 6) for event in running(number)))
        for limit_of_page in (1, 2, 3, 5, 7, 10, 50):
            found: list[str] = []
            after = ""
            while True:
                body = await page(here.http, limit=limit_of_page, after=after)
                assert len(body["questions"]) <= limit_of_page
                found += [one["id"] for one in body["questions"]]
                after = body["after"]
                if not after:
                    break
            expected = [*(f"{n:032x}" for n in (5, 4, 3, 2, 1)), *(question_id(n) for n in (4, 3, 2, 1, 0))]
            assert found == expected


async def test_a_question_that_has_just_ended_is_listed_before_it_is_on_record() -> None:
    async with listed(2) as here:
        await here.publish(*run("At eight."))

        body = await page(here.http)

    first = body["questions"][0]
    assert (first["id"], first["status"], first["outcome"], first["answer"]) == (CID, "ended", "answered", "At eight.")
    assert len(body["questions"]) == 3


async def test_a_question_that_ended_is_listed_once_when_the_record_has_it_too() -> None:
    events = run("At eight.")
    async with listed(0, events[-1]) as here:
        await here.publish(*events)

        assert await ids(here.http) == [CID]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"status": "running"}, ["running"]),
        ({"status": "ended"}, ["recorded", "refused"]),
        ({"stage": "answer"}, ["running"]),
        ({"stage": "verifier"}, []),
        ({"outcome": "rejected"}, ["refused"]),
        ({"outcome": "answered"}, ["recorded"]),
        ({"language": "eng"}, ["running", "recorded"]),
        ({"text": "HARBOUR"}, ["running"]),
        ({"text": "renew online"}, ["recorded"]),
        ({"rating": "down"}, ["recorded"]),
        ({"rating": "up"}, []),
        ({"lane": "background"}, []),
        ({"pipeline": "default"}, ["running", "recorded", "refused"]),
        ({"pipeline": "other"}, []),
        ({"until": (NOON + timedelta(hours=1)).isoformat()}, ["recorded"]),
        ({"since": (NOON + timedelta(hours=1)).isoformat()}, ["running", "refused"]),
        ({"conversation": "conversation"}, ["recorded"]),
    ],
)
async def test_filters_narrow_running_and_ended_questions_alike(wanted: dict[str, str], found: list[str]) -> None:
    names = {f"{1:032x}": "running", question_id(0): "recorded", f"{2:032x}": "refused"}
    refusal = QuestionRejected(kind="profanity", text="…", message="No.")
    first = asked(cid=f"{2:032x}")
    # Far later than what the record has.
    async with listed(1) as here:
        await here.publish(*running(1), first, then(first, refusal, "moderation"))

        assert sorted(names[one] for one in await ids(here.http, **wanted)) == sorted(found)


async def test_the_text_of_a_question_is_listed_only_after_moderation() -> None:
    async with listed() as here:
        events = run("")
        await here.publish(events[0])
        (before,) = (await page(here.http))["questions"]
        await here.publish(events[1])
        (after,) = (await page(here.http))["questions"]

    assert (before["question"], before["stage"]) == ("", "moderation")
    assert (after["question"], after["stage"]) == (QUESTION.text, "translation")


async def test_replays_of_a_question_are_found_and_name_it() -> None:
    async with listed() as here:
        events = run("At eight.")
        await here.publish(*events, again(events[3], deadline_seconds=60))

        (replay,) = (await page(here.http, parent=CID))["questions"]

    assert (replay["parent"], replay["lane"], replay["stage"]) == (CID, "background", "answer")


async def test_an_operator_is_shown_the_questions_of_the_own_tenant_only() -> None:
    settings = {"api_keys": KEYS, "tenants": "elsewhere", "key_tenants": "far:elsewhere"}
    async with listed(1, **settings) as here:
        await here.publish(*running(1))
        replies = {}
        for name, key in (("own", "operator-key-012345"), ("far", "far-key-0123456789")):
            here.http.headers["X-API-Key"] = key
            replies[name] = await ids(here.http)
            for path in (f"{LIST}/{1:032x}/timeline", f"{LIST}/{1:032x}/difference/{1:032x}"):
                replies[f"{name} {path[-10:]}"] = (await here.http.get(path)).status_code
        here.http.headers["X-API-Key"] = "client-key-0123456789"
        assert (await here.http.get(LIST)).status_code == 403

    assert list(replies.values()) == [[f"{1:032x}", question_id(0)], 200, 200, [], 404, 404]


async def test_questions_that_run_are_listed_without_a_record() -> None:
    async with running_gateway() as here:
        await here.publish(*running(1))

        assert await ids(here.http, status="running") == [f"{1:032x}"]
        assert (await here.http.get(LIST)).status_code == 503


@pytest.mark.parametrize("wrong", [{"after": "nonsense"}, {"after": "bm8gb25l"}, {"status": "lost"}, {"limit": "0"}])
async def test_a_page_that_does_not_exist_is_refused(wrong: dict[str, str]) -> None:
    async with listed() as here:
        assert (await here.http.get(LIST, params=wrong)).status_code == 422


async def test_changes_begin_with_what_runs() -> None:
    async with listed() as here:
        await here.publish(*running(1), *run("At eight."))
        reply = await here.http.get(f"{LIST}/changes?follow=false&status=running", headers=NDJSON)

    ready, line = map(json.loads, reply.text.splitlines())
    assert ready["event"] == "ready"
    assert (line["event"], line["data"]["id"], line["data"]["stage"]) == ("question", f"{1:032x}", "answer")


@asynccontextmanager
async def board() -> AsyncIterator[tuple[QuestionBoard, MemoryBus, list[float]]]:
    """A board over a log, and its clock."""
    bus, clock = MemoryBus(), [1000.0]
    feed = LiveFeed(bus.log)
    await feed.open()
    yield QuestionBoard(feed, bus.log, bus.pipelines, lambda: clock[0]), bus, clock
    await feed.close()


async def test_a_question_is_followed_through_its_steps_until_it_fits_no_more() -> None:
    async with board() as (one, bus, _), asyncio.timeout(limit(30)):
        events = run("At eight.")
        await bus.log.publish(events[0])
        seen: list[tuple[str, str, bool]] = []
        async with aclosing(one.changes(QuestionFilter(status="running"), "", 10)) as batches:
            async for batch in batches:
                seen += [(line.status, line.stage, passes) for line, passes in batch]
                if len(seen) < len(events):
                    await bus.log.publish(events[len(seen)])
                else:
                    break

    assert seen == [
        ("running", "moderation", True),
        ("running", "translation", True),
        ("running", "retrieval", True),
        ("running", "answer", True),
        ("running", "verifier", True),
        ("ended", "", False),
    ]


async def test_what_never_fitted_is_not_told() -> None:
    other = QuestionFilter(pipeline="other")
    async with board() as (one, bus, _), aclosing(one.changes(other, "", 0.01)) as batches:
        assert list(await anext(batches)) == []
        await bus.log.publish(asked())
        assert list(await anext(batches)) == []


async def test_a_rating_changes_the_line_once() -> None:
    async with board() as (one, bus, _):
        events = run("At eight.")
        for event in (*events, then(events[-1], FeedbackGiven(rating=1, by="web"), "gateway")):
            await bus.log.publish(event)
        for _ in range(2):
            (line,) = await one.lines(QuestionFilter(), "")
            assert (line.feedback_up, line.feedback_down) == (1, 0)


async def test_an_ending_that_the_feed_lost_is_read_from_the_log() -> None:
    async with board() as (one, bus, _):
        events = run("", deadline=-10)
        for event in events[:4]:
            await bus.log.publish(event)
        assert [line.status for line in await one.lines(QuestionFilter(), "")] == ["running"]

        lost = then(events[3], QuestionWithdrawn(), "gateway")
        bus.log.republish = lambda _: None  # type: ignore[method-assign]
        await bus.log.publish(lost)

        assert [line.outcome for line in await one.lines(QuestionFilter(), "")] == ["withdrawn"]


async def test_questions_are_forgotten_some_time_after_their_ending_and_all_of_them_when_nobody_looks() -> None:
    async with board() as (one, bus, clock):
        long_ago = datetime.now(UTC) - timedelta(seconds=ENDED_SECONDS + 1)
        for event in run("At eight."):
            await bus.log.publish(event.model_copy(update={"occurred_at": long_ago}))
        assert len(await one.lines(QuestionFilter(), "")) == 1
        clock[0] += 2
        await bus.log.publish(asked(cid="1" * 32))
        assert [line.id for line in await one.lines(QuestionFilter(), "")] == ["1" * 32]

        clock[0] += IDLE + 1
        await bus.log.publish(asked(cid="2" * 32))
        # Forgotten, and read again from the log by the next look.
        assert len(await one.lines(QuestionFilter(), "")) == 3


async def test_a_question_is_explained_from_the_log_then_from_the_record_and_never_with_its_raw_text() -> None:
    async with listed(1) as here:
        raw = asked("my raw words")
        await here.publish(raw, then(raw, QuestionWithdrawn(), "gateway"))
        live = (await here.http.get(f"{LIST}/{CID}/timeline")).json()
        kept = (await here.http.get(f"{LIST}/{question_id(0)}/timeline")).json()
        unknown = await here.http.get(f"{LIST}/{'e' * 32}/timeline")

    assert (live["kept_in"], live["status"], live["outcome"]["name"]) == ("log", "ended", "withdrawn")
    assert "my raw words" not in json.dumps(live)
    assert (kept["kept_in"], kept["facts"], kept["question"]) == ("record", [], "Question 0?")
    assert unknown.status_code == 404


async def test_two_runs_are_compared() -> None:
    async with listed() as here:
        first, second = run("At eight."), running(1)
        await here.publish(*first, *second)
        reply = await here.http.get(f"{LIST}/{CID}/difference/{1:032x}")
        missing = await here.http.get(f"{LIST}/{CID}/difference/{'e' * 32}")

    body = reply.json()
    assert (body["left"]["ending"], body["right"]["ending"]) == ("AnswerVerified", "")
    assert missing.status_code == 404


async def test_a_replay_on_the_background_lane_is_listed_by_its_lane() -> None:
    async with listed() as here:
        await here.publish(*running(1), again(run("")[1], deadline_seconds=60))
        (line,) = (await page(here.http, lane=Lane.BACKGROUND.value))["questions"]

    assert line["parent"] == CID
