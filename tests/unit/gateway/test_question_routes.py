"""Questions over HTTP, as clients and operators see them."""

from __future__ import annotations

import json

import pytest

from services.gateway.http.problems import MEDIA_TYPE
from shared.bus.ports import StoredEvent
from shared.contracts.domain import Answer
from shared.contracts.facts import FeedbackGiven, QuestionAsked
from shared.contracts.requests.persistence import (
    Exchange,
)
from tests.support.http_client import SseEvent, SseParser
from tests.support.reassembly import Reassembled
from tests.unit.gateway.harness import CID, RunningGateway, asked, drafted, run, running_gateway, then
from tests.unit.gateway.neighbours import NOON, joined

EXCHANGE = Exchange(
    id=CID,
    event_id="e-1",
    conversation_id="c-1",
    pipeline="default",
    pipeline_revision=1,
    outcome="answered",
    asked_at=NOON,
    ended_at=NOON,
    answer=Answer(content="At eight."),
)


async def events_of(
    here: RunningGateway, path: str = f"/api/v1/questions/{CID}/events", **headers: str
) -> list[SseEvent]:
    reply = await here.http.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    assert reply.status_code == 200, reply.text
    return SseParser().feed(reply.content)


async def test_a_question_is_accepted_with_links_to_its_answer_and_its_stream() -> None:
    async with running_gateway() as here:
        reply = await here.http.post("/api/v1/questions", json={"question": "When?"})

        body = reply.json()
        assert reply.status_code == 202
        assert set(body) == {"id", "status", "pipeline", "conversation_id", "links"}
        assert reply.headers["location"] == body["links"]["self"]
        assert (await here.http.get(body["links"]["self"])).json() == body


async def test_a_repeated_post_under_one_key_is_the_same_question_and_another_is_refused() -> None:
    async with running_gateway() as here:
        headers = {"Idempotency-Key": "k-1"}
        first, again, other = [
            await here.http.post("/api/v1/questions", json={"question": text}, headers=headers)
            for text in ("When?", "When?", "Where?")
        ]

        assert first.json() == again.json()
        assert (other.status_code, other.headers["content-type"]) == (422, MEDIA_TYPE)


async def test_a_question_is_read_as_it_stands_and_opinions_on_it_change_nothing() -> None:
    async with running_gateway() as here:
        events = run("At eight.")
        await here.publish(*events[:4])
        path = f"/api/v1/questions/{CID}"
        assert (await here.http.get(path)).json()["status"] == "GENERATING_ANSWER"

        await here.publish(*events[4:], then(events[-1], FeedbackGiven(rating=1), "gateway"))

        body = (await here.http.get(path)).json()
        assert body["status"] == "COMPLETE"
        assert body["result"]["answer"]["content"] == "At eight."


async def test_a_question_that_has_left_the_log_is_read_from_the_record_in_the_same_shape() -> None:
    async with running_gateway() as here:
        joined(here).exchange = EXCHANGE
        from_record = (await here.http.get(f"/api/v1/questions/{CID}")).json()
        await here.publish(*run("At eight."))

        from_log = (await here.http.get(f"/api/v1/questions/{CID}")).json()

        assert set(from_record) == set(from_log)
        assert set(from_record["result"]) <= set(from_log["result"])
        assert from_record["result"]["answer"]["content"] == "At eight."


async def test_a_question_that_nobody_knows_is_not_found() -> None:
    async with running_gateway() as here:
        joined(here)
        for path in (f"/api/v1/questions/{CID}", f"/api/v1/questions/{CID}/events", "/api/v1/conversations/c-2"):
            reply = await here.http.get(path)
            assert (reply.status_code, reply.headers["content-type"]) == (404, MEDIA_TYPE)


async def test_a_question_of_which_nothing_can_be_read_is_not_found() -> None:
    async with running_gateway() as here:
        subject = asked().subject
        here.bus.log.stored.append(StoredEvent(subject, 1, NOON, b"{}"))

        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/feedback")):
            body = {"rating": "up"} if path else None
            reply = await here.http.request(method, f"/api/v1/questions/{CID}{path}", json=body)
            assert reply.status_code == 404


async def test_without_the_bus_and_the_record_the_client_is_told_to_come_back() -> None:
    async with running_gateway() as here:
        here.bus.log.unavailable = True
        for path in (f"/api/v1/questions/{CID}", "/api/v1/stats", "/api/v1/conversations/c-1"):
            reply = await here.http.get(path)
            assert reply.status_code == 503
            assert reply.headers["retry-after"] == "5"


async def test_a_finished_question_streams_to_its_result() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight.", "From nine."))

        events = await events_of(here)

        whole = Reassembled()
        for event in events:
            whole.take(event)
        assert whole.text == "From nine."
        assert events[-1].event == "result"
        assert events[-1].data == (await here.http.get(f"/api/v1/questions/{CID}")).json()


async def test_a_stream_resumes_after_every_id_by_header_and_by_query() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight.", "From nine."))
        events = await events_of(here)

        for number, event in enumerate(events, start=1):
            if event.id:
                path = f"/api/v1/questions/{CID}/events?from={event.id}"
                assert await events_of(here, last_event_id=event.id) == events[number:]
                assert await events_of(here, path) == events[number:]


async def test_a_stream_is_ndjson_when_the_client_wants_it() -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight."))

        headers = {"Accept": "application/x-ndjson"}
        reply = await here.http.get(f"/api/v1/questions/{CID}/events", headers=headers)

        lines = [json.loads(line) for line in reply.text.splitlines()]
        expected = [(one.id or None, one.event, one.data) for one in await events_of(here)]
        assert reply.headers["content-type"].startswith("application/x-ndjson")
        assert [(line["id"], line["event"], line["data"]) for line in lines] == expected


async def test_a_stream_is_not_opened_at_an_id_that_no_server_sent() -> None:
    async with running_gateway() as here:
        await here.publish(asked())

        for path in (f"/api/v1/questions/{CID}/events?from=x", f"/api/v1/questions/{CID}/events?from=1.0"):
            assert (await here.http.get(path)).status_code == 400


async def test_a_streamed_query_at_an_id_that_no_server_sent_asks_nothing() -> None:
    async with running_gateway() as here:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": "x"}
        reply = await here.http.post("/api/v1/query", json={"question": "When?"}, headers=headers)

        assert reply.status_code == 400
        assert here.bus.log.stored == []


async def test_a_query_without_an_answer_in_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.asking.question_service.GRACE", 0.0)
    async with running_gateway({"gateway": {"deadline_seconds": 0.02}}) as here:
        reply = await here.http.post("/api/v1/query", json={"question": "When?"})

        assert reply.status_code == 504
        assert reply.json()["result"]["error"]["kind"] == "deadline"


async def test_a_query_asked_again_is_answered_or_streamed_from_what_there_is() -> None:
    async with running_gateway() as here:
        headers, body = {"Idempotency-Key": "k-1"}, {"question": "When?"}
        cid = (await here.http.post("/api/v1/questions", json=body, headers=headers)).json()["id"]
        first = here.bus.history(cid)[0]
        draft = then(first, drafted("At eight."), "answer")
        await here.publish(draft, then(draft, run("At eight.")[-1].payload))

        answered = await here.http.post("/api/v1/query", json=body, headers=headers)
        streamed = await here.http.post("/api/v1/query", json=body, headers=headers | {"Accept": "text/event-stream"})

        assert answered.json()["result"]["outcome"] == "answered"
        assert SseParser().feed(streamed.content)[-1].data == answered.json()


async def test_a_question_is_withdrawn_and_its_stream_ends_so() -> None:
    async with running_gateway() as here:
        await here.publish(asked())

        reply = await here.http.delete(f"/api/v1/questions/{CID}")

        assert reply.json()["result"]["outcome"] == "withdrawn"
        assert (await events_of(here))[-1].data == reply.json()


@pytest.mark.parametrize(("rating", "number"), [("up", 1), ("down", -1)])
async def test_an_answer_is_rated(rating: str, number: int) -> None:
    async with running_gateway() as here:
        joined(here)
        await here.publish(*run("At eight."))
        body = {"rating": rating, "reason": "outdated"}

        reply = await here.http.post(f"/api/v1/questions/{CID}/feedback", json=body)

        given = here.bus.only(CID, FeedbackGiven)
        assert reply.status_code == 202
        assert (given.rating, given.reason, given.by) == (number, "outdated", "local")


@pytest.mark.parametrize("cid", ["x", CID.upper(), CID + "0", "*" * 32])
async def test_an_id_of_another_form_never_reaches_the_log(cid: str) -> None:
    async with running_gateway() as here:
        for path in (f"/api/v1/questions/{cid}", f"/api/v1/questions/{cid}/events", f"/api/v1/events/{cid}"):
            assert (await here.http.get(path)).status_code == 422


async def test_operators_see_every_event_and_where_one_cannot_be_read() -> None:
    async with running_gateway() as here:
        events = run("At eight.")
        await here.publish(*events)
        broken = here.bus.log.stored[1]
        here.bus.log.stored[1] = StoredEvent(broken.subject, broken.sequence, broken.time, b"{}")

        body = (await here.http.get(f"/api/v1/events/{CID}")).json()

        assert [one["fact"] for one in body] == [event.fact for event in events]
        assert [one["sequence"] for one in body] == list(range(1, len(events) + 1))
        assert set(body[0]) == set(body[1])
        assert "unreadable" in body[1]["payload"]


async def test_pipelines_are_listed_by_name_with_newest_revision_and_description() -> None:
    async with running_gateway() as here:
        here.bus.pipelines.apply("tides", {"description": "Tides\u202e and waves."})

        body = (await here.http.get("/api/v1/pipelines")).json()

        assert body == [
            {"name": "default", "revision": 1, "description": "", "default": True},
            {"name": "tides", "revision": 2, "description": "Tides and waves.", "default": False},
        ]


async def test_a_conversation_is_read_from_the_record() -> None:
    async with running_gateway() as here:
        joined(here)

        assert (await here.http.get("/api/v1/conversations/c-1")).json()["exchanges"][0]["id"] == CID


@pytest.mark.parametrize(("hours", "status"), [("2", 200), ("0", 422), ("-1", 422), ("nan", 422), ("9999", 422)])
async def test_figures_are_of_a_time_that_there_is(hours: str, status: int) -> None:
    async with running_gateway() as here:
        joined(here)

        assert (await here.http.get(f"/api/v1/stats?hours={hours}")).status_code == status


@pytest.mark.parametrize(("typed", "kept"), [("fr-CA", "fra"), ("call 555-0100", ""), ("", "")])
async def test_a_language_is_kept_as_its_code_and_never_as_it_was_typed(typed: str, kept: str) -> None:
    async with running_gateway() as here:
        reply = await here.http.post("/api/v1/questions", json={"question": "When?", "language": typed})

        assert here.bus.only(reply.json()["id"], QuestionAsked).language_hint == kept
