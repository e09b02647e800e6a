"""Questions on the background lane: for operators, apart from sessions and caches."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.domain import Lane, Turn
from shared.contracts.facts import QuestionAsked
from shared.contracts.sessions import Session, SessionTurn, encode_session, session_key
from shared.contracts.subjects import ANSWERS_BUCKET, SESSIONS_BUCKET
from tests.unit.gateway.harness import new_question, running_gateway
from tests.unit.gateway.test_authentication import CLIENT, EDITOR, KEYS, OPERATOR, bearer

BEFORE = Turn(question="What does a plot cost?", answer="Forty euros.")


def body(**fields: Any) -> dict[str, Any]:
    return {"question": "And for students?", "lane": "background", **fields}


async def test_an_operator_asks_on_the_background_lane_and_brings_the_turns_before() -> None:
    async with running_gateway(api_keys=KEYS) as here:
        reply = await here.http.post(
            "/api/v1/questions", json=body(turns=[BEFORE.model_dump()]), headers=bearer(OPERATOR)
        )

        assert reply.status_code == 202
        (event,) = here.bus.history(reply.json()["id"])
        assert event.subject.startswith("bg.")
        assert isinstance(event.payload, QuestionAsked)
        assert event.payload.turns == (BEFORE,)


@pytest.mark.parametrize("key", [CLIENT, EDITOR])
@pytest.mark.parametrize("route", ["questions", "query"])
async def test_nobody_else_does(key: str, route: str) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        reply = await here.http.post(f"/api/v1/{route}", json=body(), headers=bearer(key))

        assert reply.status_code == 403
        assert "operator" in reply.json()["detail"]
        assert here.bus.log.stored == []


async def test_a_live_question_brings_no_turns_and_a_lane_has_a_name() -> None:
    async with running_gateway() as here:
        turns = await here.http.post("/api/v1/questions", json=body(lane="live", turns=[BEFORE.model_dump()]))
        lane = await here.http.post("/api/v1/questions", json=body(lane="fast"))

        assert (turns.status_code, lane.status_code) == (422, 422)
        assert "turns" in turns.json()["detail"]


async def test_the_background_lane_reads_neither_sessions_nor_kept_answers() -> None:
    async with running_gateway({"gateway": {"turns": 1}}, tenant="town") as here:
        kept = SessionTurn(question="Q", answer="A", id="0" * 32, at=1.0)
        await here.bus.key_value(SESSIONS_BUCKET).put(
            session_key("town", "c-1"), encode_session(Session(turns=(kept,)))
        )
        here.bus.key_value(SESSIONS_BUCKET).unavailable = here.bus.key_value(ANSWERS_BUCKET).unavailable = True
        turns = (Turn(question="older", answer="x"), BEFORE)

        event = await here.questions.ask(new_question(conversation_id="c-1", lane=Lane.BACKGROUND, turns=turns))

        assert isinstance(event.payload, QuestionAsked)
        assert event.payload.turns == (BEFORE,)
        assert event.reuse_key == ""
