"""Questions and conversations have an owner: what belongs to another asker does not exist for a client."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from services.persistence import projection
from shared.contracts.domain import Answer
from shared.contracts.envelope import Event
from shared.contracts.facts import AnswerReused, Ending, Fact
from shared.contracts.pseudonyms import asker_id
from tests.unit.gateway.harness import CID, QUESTION, RunningGateway, asked, running_gateway, then, verified
from tests.unit.gateway.neighbours import joined

KEYS = {
    "web": "web-key-0123456789",
    "shop": "shop-key-0123456789",
    "ed": "ed-key-0123456789",
    "ops": "ops-key-0123456789",
}
ROLES = {"web": "client", "shop": "client", "ed": "editor", "ops": "operator"}
API_KEYS = ",".join(f"{name}:{ROLES[name]}:{key}" for name, key in KEYS.items())
QUESTIONS = f"/api/v1/questions/{CID}"
#: Every route of one question, and what it replies to the owner.
ROUTES: list[tuple[str, str, Any, int]] = [
    ("GET", QUESTIONS, None, 200),
    ("GET", f"{QUESTIONS}/events", None, 200),
    ("DELETE", QUESTIONS, None, 200),
    ("POST", f"{QUESTIONS}/feedback", {"rating": "up"}, 202),
]
#: Who may and who may not: key and the user it names. The question was asked with the key `web` for the user `zoe`.
ALLOWED = [("web", "zoe"), ("ops", ""), ("ops", "somebody")]
REFUSED = [("web", ""), ("web", "yan"), ("shop", ""), ("shop", "zoe"), ("ed", ""), ("ed", "zoe")]


def run_of(ending: Fact, *, key: str = "web", user: str = "zoe") -> list[Event[Fact]]:
    first = asked().model_copy(update={"asker": asker_id("default", key, user)})
    return [first, then(first, ending)]


async def call(here: RunningGateway, method: str, path: str, body: Any, key: str, user: str) -> httpx.Response:
    params = {"user": user} if user else {}
    return await here.http.request(method, path, json=body, params=params, headers={"X-API-Key": KEYS[key]})


def status_of(expected: int, key: str, user: str) -> int:
    """Editors rate all answers, as experts, but read no others."""
    allowed = (key, user) in ALLOWED or (key == "ed" and expected == 202)
    return expected if allowed else 404


@pytest.mark.parametrize(("key", "user"), ALLOWED + REFUSED)
@pytest.mark.parametrize(("method", "path", "body", "expected"), ROUTES)
async def test_a_question_in_the_log_is_there_for_its_owner_and_operators(
    method: str, path: str, body: Any, expected: int, key: str, user: str
) -> None:
    async with running_gateway(api_keys=API_KEYS) as here:
        joined(here)
        await here.publish(*run_of(verified("At eight.")))
        before = len(here.bus.log.stored)
        reply = await call(here, method, path, body, key, user)

    assert reply.status_code == status_of(expected, key, user)
    if reply.status_code == 404:
        assert len(here.bus.log.stored) == before
        assert reply.json()["detail"] == f"no question {CID}; ask one with POST /api/v1/questions"


@pytest.mark.parametrize(("key", "user"), ALLOWED + REFUSED)
@pytest.mark.parametrize(("method", "path", "body", "expected"), [ROUTES[0], ROUTES[3]])
async def test_a_question_on_record_is_there_for_its_owner_and_operators(
    method: str, path: str, body: Any, expected: int, key: str, user: str
) -> None:
    event = run_of(verified("At eight."))[-1]
    assert isinstance(event.payload, Ending)
    async with running_gateway(api_keys=API_KEYS) as here:
        joined(here).exchange = projection.exchange(event.payload, event)
        reply = await call(here, method, path, body, key, user)

    assert reply.status_code == status_of(expected, key, user)


async def test_what_is_another_askers_reads_as_what_does_not_exist() -> None:
    async with running_gateway(api_keys=API_KEYS) as here:
        joined(here)
        await here.publish(*run_of(verified("At eight.")))
        replies = [
            (await call(here, method, path.replace(CID, cid), body, "shop", "")).text.replace(cid, "")
            for method, path, body, _ in ROUTES[:1]
            for cid in (CID, "1" * 32)
        ]

    assert len(set(replies)) == 1


@pytest.mark.parametrize(("key", "user"), [("web", "zoe"), ("shop", ""), ("ops", "")])
async def test_the_record_is_asked_for_the_conversation_of_the_caller(key: str, user: str) -> None:
    async with running_gateway(api_keys=API_KEYS) as here:
        joined(here).owner = asker_id("default", "web", "zoe")
        reply = await call(here, "GET", "/api/v1/conversations/c-1", None, key, user)

    assert reply.status_code == (404 if key == "shop" else 200)


@pytest.mark.parametrize(("key", "shown"), [("web", False), ("ops", True)])
async def test_only_operators_see_whose_answer_was_reused(key: str, shown: bool) -> None:
    reused = AnswerReused(question=QUESTION, answer=Answer(content="Yes."), origin="2" * 32)
    async with running_gateway(api_keys=API_KEYS) as here:
        await here.publish(*run_of(reused))
        read = await call(here, "GET", QUESTIONS, None, key, "zoe")
        stream = await call(here, "GET", f"{QUESTIONS}/events", None, key, "zoe")

    assert ("2" * 32 in read.text) is ("2" * 32 in stream.text) is shown
    assert read.json()["result"]["reused"]["similarity"] == 1


async def test_another_client_does_not_continue_a_conversation() -> None:
    async with running_gateway(api_keys=API_KEYS) as here:
        body = {"question": "When?", "conversation_id": CID, "client": {"user": "zoe"}}
        await here.publish(*run_of(verified("At eight.")))
        turns = []
        for key, user in (("shop", "zoe"), ("web", "yan"), ("web", "zoe")):
            asking = {**body, "client": {"user": user}}
            reply = await call(here, "POST", "/api/v1/questions", asking, key, "")
            turns.append(len(here.bus.history(reply.json()["id"])[0].payload.model_dump()["turns"]))

    assert turns == [0, 0, 1]


async def test_without_keys_everybody_here_reads_everything() -> None:
    async with running_gateway() as here:
        joined(here)
        await here.publish(*run_of(verified("At eight.")))
        reply = await here.http.get(QUESTIONS)

    assert reply.status_code == 200
