"""What operators see over HTTP: everything as it is stored, one question's events, and those as a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.bus.ports import StoredEvent
from shared.contracts.pipelines import is_candidate
from shared.history.export import read_export
from tests.unit.gateway.harness import CID, RunningGateway, asked, run, running_gateway

KEYS = "web:client:client-key-0123456789,ops:operator:operator-key-012345"
NDJSON = {"Accept": "application/x-ndjson"}
PATHS = ("/api/v1/events?since=60&follow=false", f"/api/v1/events/{CID}", f"/api/v1/events/{CID}/export")


async def seen(here: RunningGateway, **wanted: Any) -> list[dict[str, Any]]:
    params = {"since": 60, "follow": "false", **wanted}
    reply = await here.http.get("/api/v1/events", params=params, headers=NDJSON)
    assert reply.status_code == 200, reply.text
    return [json.loads(one) for one in reply.text.splitlines() if one]


@pytest.mark.parametrize("path", PATHS)
async def test_events_are_for_operators(path: str) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        await here.publish(*run("At eight."))
        replies = [
            (await here.http.get(path, headers=headers)).status_code
            for headers in ({}, {"X-API-Key": "client-key-0123456789"}, {"X-API-Key": "operator-key-012345"})
        ]

    assert replies == [401, 403, 200]


async def test_stored_events_are_read_in_order_and_narrowed() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight."), asked("And on Mondays?", cid="1" * 32))
        everything = await seen(here)
        ending = await seen(here, fact="AnswerVerified")
        other = await seen(here, id="1" * 32)
        retrieved = await seen(here, stage="retrieval")
        found = await seen(here, contains="ON MONDAYS?")
        background = await seen(here, lane="background")

    assert [one["sequence"] for one in everything] == list(range(1, 8))
    assert [one["fact"] for one in ending] == ["AnswerVerified"]
    assert [one["id"] for one in other] == ["1" * 32]
    assert [one["fact"] for one in retrieved] == ["PassagesRetrieved"]
    assert [one["id"] for one in found] == ["1" * 32]
    assert background == []


async def test_events_are_server_sent_events_unless_lines_are_asked_for() -> None:
    async with running_gateway() as here:
        await here.publish(asked())
        reply = await here.http.get(PATHS[0])

    assert reply.headers["content-type"].startswith("text/event-stream")
    head, frame, rest = reply.text.split("\n\n")
    assert head == "retry: 1000"
    assert frame.startswith('id: 1\nevent: event\ndata: {"id":"')
    assert rest == ""


@pytest.mark.parametrize(
    "query",
    ["fact=AnswerGuessed", "id=12", "lane=fast", "since=-1", "since=1e12", "colour=red", "contains=" + "x" * 201],
)
async def test_a_question_about_events_that_makes_no_sense_is_refused(query: str) -> None:
    async with running_gateway() as here:
        reply = await here.http.get(f"/api/v1/events?follow=false&{query}")

    assert reply.status_code == 422


async def test_a_bus_that_is_away_is_told_in_the_stream() -> None:
    async with running_gateway() as here:
        here.bus.log.unavailable = True
        (told,) = await seen(here)

    assert told == {"error": "NATS is unavailable"}


async def test_an_export_has_the_pipeline_and_no_raw_text() -> None:
    async with running_gateway({"answer": {"max_sentences": 2}}) as here:
        await here.publish(*run("At eight."))
        reply = await here.http.get(PATHS[2])
        raw = await here.http.get(f"{PATHS[2]}?raw=true")

    question = read_export(reply.content, "q")
    assert question.left_out == ("QuestionAsked",)
    assert question.document is not None
    assert question.document.sections == {"answer": {"max_sentences": 2}}
    assert len(read_export(raw.content, "q").events) == len(question.events) + 1
    assert f'filename="{CID}.json"' in reply.headers["content-disposition"]


async def test_an_event_that_cannot_be_read_is_no_reason_to_fail() -> None:
    async with running_gateway() as here:
        first, *_ = run("At eight.")
        await here.publish(first)
        here.bus.log.stored.append(StoredEvent(f"qa.question.approved.{CID}.0", 2, here.bus.log.stored[0].time, b"{}"))
        (_, told) = await seen(here)
        refused = await here.http.get(PATHS[2])

    assert "unreadable" in told["payload"]
    assert refused.status_code == 422
    assert "cannot be read" in refused.json()["detail"]


async def test_nothing_is_exported_of_a_question_that_nobody_asked() -> None:
    async with running_gateway() as here:
        assert (await here.http.get(PATHS[2])).status_code == 404


async def test_no_asker_is_answered_by_a_candidate() -> None:
    async with running_gateway() as here:
        name = here.bus.pipelines.apply("candidate/default/0", {}).name
        assert is_candidate(name)
        reply = await here.http.post("/api/v1/questions", json={"question": "When?", "pipeline": name})

    assert reply.status_code == 422
    assert here.bus.log.stored == []
