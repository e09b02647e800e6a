"""A stream ends with the key or token of its reader, and goes on where it was with a new one."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest

from services.gateway.http.frames import EXPIRED, NDJSON, SSE
from tests.support.http_client import NdjsonParser, SseEvent, SseParser
from tests.support.issuer import Issuer, issuer_server
from tests.unit.gateway.harness import RunningGateway, running_gateway

#: Seconds for which tokens are valid, and for which the clocks may differ.
VALID, LEEWAY = 300, 30
QUESTIONS = "/api/v1/questions"
#: When the key expires, in seconds since 1970.
NOON = 1_927_627_200.0


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuer_server() as running:
        yield running


@pytest.fixture
async def here(issuer: Issuer) -> AsyncIterator[RunningGateway]:
    key = f"web:client:client-key-0123456789@{datetime.fromtimestamp(NOON, UTC):%Y-%m-%dT%H:%MZ}"
    async with running_gateway(api_keys=key, oidc_leeway_seconds=LEEWAY, **issuer.settings) as running:
        yield running


def bearer(issuer: Issuer, **claims: object) -> dict[str, str]:
    return {"Authorization": f"Bearer {issuer.token(exp=int(time.time()) + VALID, **claims)}"}


async def asked(here: RunningGateway, headers: dict[str, str]) -> str:
    """A question that no stage answers: its stream goes on."""
    question_id: str = (await here.http.post(QUESTIONS, json={"question": "When?"}, headers=headers)).json()["id"]
    return question_id


def turn_on(here: RunningGateway, seconds: float) -> None:
    """For streams it is so many seconds later."""
    here.gateway.streams.clock = lambda: time.time() + seconds


async def events(here: RunningGateway, path: str, headers: dict[str, str]) -> tuple[list[SseEvent], bytes]:
    reply = await here.http.get(path, headers=headers)
    assert reply.status_code == 200, reply.text
    return SseParser().feed(reply.content), reply.content


async def test_stream_ends_when_its_token_expires_and_goes_on_with_a_new_one(
    here: RunningGateway, issuer: Issuer
) -> None:
    headers = bearer(issuer)
    question_id = await asked(here, headers)
    path = f"{QUESTIONS}/{question_id}/events"
    turn_on(here, VALID + LEEWAY)
    before, content = await events(here, path, headers)
    turn_on(here, 0)
    await here.http.delete(f"{QUESTIONS}/{question_id}", headers=headers)
    last = {"Last-Event-ID": before[-1].id} if before else {}
    after, _ = await events(here, path, bearer(issuer) | last)

    whole, _ = await events(here, path, bearer(issuer))

    assert content.endswith(EXPIRED[SSE])
    assert all(one.event == "status" for one in before)
    assert [*before, *after] == whole
    assert whole[-1].event == "result"


async def test_stream_of_a_key_with_a_date_and_of_lines_end_as_well(here: RunningGateway, issuer: Issuer) -> None:
    headers = {"Authorization": "Bearer client-key-0123456789"}
    question_id = await asked(here, headers)
    here.gateway.streams.clock = lambda: NOON
    reply = await here.http.get(f"{QUESTIONS}/{question_id}/events", headers=headers | {"Accept": NDJSON})

    assert all(one.event == "status" for one in NdjsonParser().feed(reply.content))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"model": "answerbus", "messages": [{"role": "user", "content": "When?"}]}),
        ("/v1/responses", {"model": "answerbus", "input": "When?"}),
        ("/api/v1/ag-ui", {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "W?"}]}),
    ],
)
async def test_streams_of_other_protocols_end_too(
    here: RunningGateway, issuer: Issuer, path: str, body: dict[str, object]
) -> None:
    turn_on(here, VALID + LEEWAY)
    reply = await here.http.post(path, json={**body, "stream": True}, headers=bearer(issuer))

    assert reply.status_code == 200
    assert reply.content.endswith(EXPIRED[SSE])


async def test_ticket_is_no_way_around_the_end_of_a_token(here: RunningGateway, issuer: Issuer) -> None:
    headers = bearer(issuer)
    question_id = await asked(here, headers)
    ticket = (await here.http.post(f"{QUESTIONS}/{question_id}/stream-ticket", headers=headers)).json()["events"]
    turn_on(here, VALID + LEEWAY)
    _, content = await events(here, ticket, {})
    here.gateway.tickets.clock = lambda: time.time() + VALID + LEEWAY
    [*_, last] = re.findall(r"^id: (.+)$", content.decode(), re.MULTILINE)
    again = await here.http.get(ticket, headers={"Last-Event-ID": last})

    assert content.endswith(EXPIRED[SSE])
    assert again.status_code == 401


async def test_stream_of_a_key_without_a_date_has_no_end(here: RunningGateway) -> None:
    slot = here.gateway.streams.take("web")

    assert slot.seconds_left is None
