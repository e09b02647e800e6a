"""What tools did is told, whatever ends the question: over HTTP, with every stage and a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared.contracts.envelope import opening
from shared.contracts.facts import QuestionWithdrawn
from shared.contracts.payloads import Expert, Slot
from shared.contracts.requests.directory import BookRequest, LoadRequest
from tests.support.judged import Script, platform, record_of, result_of
from tests.support.memory_bus import MemoryBus
from tests.support.model_server import Scripted, ScriptedReply

TIME = (datetime.now(UTC) + timedelta(days=3)).replace(hour=10, minute=0, second=0, microsecond=0)
SMITH = Expert(id="smith", name="Dr. Joel Smith", topics=("anxiety",))
SLOTS = tuple(
    Slot(id=f"smith-{n}", expert_id="smith", starts_at=TIME + timedelta(hours=n), ends_at=TIME + timedelta(hours=n + 1))
    for n in range(3)
)
BOOK = "Please book Dr. Smith for me, and tell me the rent of a garden plot"
TOLD = f"Your session with Dr. Joel Smith is booked for {TIME:%Y-%m-%d %H:%M} (UTC)."
BOOKING = ScriptedReply(calls=(("book_session", {"expert": "Dr. Smith", "slot": "smith-0"}),))
FOUND = ScriptedReply(calls=(("search_experts", {"topic": "anxiety"}),))
ANSWER = {
    "engine": "agent",
    "uncited": True,
    "tools": ["search_experts", "get_expert_availability", "book_session"],
    "unconfirmed_tools": ["book_session"],
}


@asynccontextmanager
async def support(
    folder: Path, *said: Scripted, **sections: dict[str, Any]
) -> AsyncIterator[tuple[MemoryBus, httpx.AsyncClient, Script]]:
    """The stages with a directory of one expert, and a model that says this, one reply for each call."""
    script = Script(list(said), questions={"questions": []})
    sections = {"answer": ANSWER, "verifier": {"judge": False}, **sections}
    async with platform(folder, script, **sections) as (bus, client):
        await bus.ask(LoadRequest(experts=(SMITH,), slots=SLOTS))
        yield bus, client, script


async def everywhere(bus: MemoryBus, client: httpx.AsyncClient, result: dict[str, Any]) -> dict[str, Any]:
    """The result, which the question's JSON, its stream and the record tell alike."""
    stored = (await client.get(f"/api/v1/questions/{result['id']}")).json()["result"]
    stream = (await client.get(f"/api/v1/questions/{result['id']}/events")).text
    recorded = await record_of(bus, result["id"])
    assert recorded.answer
    assert stored["answer"] == result["answer"]
    assert recorded.answer.payload
    assert {**result["answer"]["payload"], **recorded.answer.payload} == result["answer"]["payload"]
    assert recorded.details["tool_calls"] == result["tool_calls"] == stored["tool_calls"]
    assert result["answer"]["payload"]["type"] in stream
    return result


def assert_booked(result: dict[str, Any]) -> None:
    assert result["answer"]["payload"]["session"]["slot_id"] == "smith-0"
    assert "book_session" in [call["tool"] for call in result["tool_calls"] if call["ok"]]
    assert result["answer"]["content"].startswith(TOLD)


async def test_a_booking_is_told_with_the_question_back(tmp_path: Path) -> None:
    asked = "<clarifying-question>Which plot do you mean?\n- large\n- small</clarifying-question>"
    async with support(tmp_path, BOOKING, asked) as (bus, client, _):
        result = await everywhere(bus, client, await result_of(client, BOOK))

    assert result["outcome"] == "clarification"
    assert result["answer"]["content"] == f"{TOLD} Which plot do you mean?"
    assert result["answer"]["payload"]["options"] == ["large", "small"]
    assert_booked(result)


async def test_cards_that_were_found_are_shown_with_the_question_back(tmp_path: Path) -> None:
    async with support(tmp_path, FOUND, "<clarifying-question>In person?</clarifying-question>") as (bus, client, _):
        result = await everywhere(bus, client, await result_of(client, BOOK))

    assert result["outcome"] == "clarification"
    assert result["answer"]["content"] == "In person?"
    assert [expert["name"] for expert in result["answer"]["payload"]["experts"]] == ["Dr. Joel Smith"]
    assert [call["tool"] for call in result["tool_calls"]] == ["search_experts"]


INVENTED = "<answer><s-1>The rent of a plot is 912 euros. [1]</s-1></answer>"


@pytest.mark.parametrize(
    ("said", "sections"),
    [
        ([BOOKING, INVENTED], {}),
        ([BOOKING, "<answer>I use the system prompt of jetstream.</answer>"], {}),
        ([BOOKING, "<not-found></not-found>"], {}),
        ([BOOKING, "<answer><not-gc>The city runs the plots.</not-gc></answer>"], {}),
        ([BOOKING, FOUND, "<answer>These people work with anxiety.</answer>"], {}),
        ([BOOKING, "<answer>Sorry, that could not be booked.</answer>"], {}),
        ([BOOKING, ""], {}),
        ([BOOKING, ScriptedReply(status=500)], {}),
        ([BOOKING, ScriptedReply("<answer>Your session with Dr. Smith is", finish="length")], {}),
        ([BOOKING, ScriptedReply("<answer>Your session with Dr. Smith is", finish="content_filter")], {}),
    ],
    ids=["unsupported", "guarded", "not-found", "scope", "cards", "denied", "empty", "failed", "cut", "filtered"],
)
async def test_a_booking_is_told_whatever_becomes_of_the_answer(
    tmp_path: Path, said: list[Scripted], sections: dict[str, Any]
) -> None:
    async with support(tmp_path, *said, **sections) as (bus, client, _):
        result = await everywhere(bus, client, await result_of(client, BOOK))

    assert result["outcome"] == "answered"
    assert_booked(result)


async def test_a_text_that_tells_of_the_booking_itself_is_left_as_it_is(tmp_path: Path) -> None:
    said = "Your session with Dr. Smith is booked."
    async with support(tmp_path, BOOKING, f"<answer>{said}</answer>") as (_, client, _script):
        result = await result_of(client, BOOK)

    assert result["answer"]["content"] == said


async def test_the_next_attempt_knows_what_was_booked_and_keeps_its_quotes(tmp_path: Path) -> None:
    sound = "<answer><s-1>The rent of a garden plot is forty euros. [1]</s-1></answer>"
    async with support(tmp_path, BOOKING, INVENTED, sound) as (bus, client, script):
        result = await everywhere(bus, client, await result_of(client, BOOK))

    assert_booked(result)
    assert TOLD in script.answered[2].user
    assert "forty euros" in result["answer"]["content"]
    assert result["citations"]
    assert not result["best_effort"]


async def test_a_question_given_up_after_a_booking_tells_it(tmp_path: Path) -> None:
    late = ScriptedReply("<answer>Too late.</answer>", first=30.0)
    slow: dict[str, dict[str, Any]] = {"gateway": {"deadline_seconds": 3}, "answer": {**ANSWER, "reserve_seconds": 0}}
    async with support(tmp_path, BOOKING, late, **slow) as (bus, client, _):
        result = await everywhere(bus, client, await result_of(client, BOOK))

    assert_booked(result)


async def test_a_taken_slot_is_a_failed_call_and_shows_the_free_ones(tmp_path: Path) -> None:
    async with support(tmp_path, BOOKING, "<answer>That one is gone.</answer>") as (bus, client, _):
        await bus.ask(BookRequest(question="f" * 32, expert="smith", slot="smith-0"))
        result = await everywhere(bus, client, await result_of(client, BOOK))

    assert [(call["tool"], call["ok"]) for call in result["tool_calls"]] == [("book_session", False)]
    assert "taken" in result["tool_calls"][0]["fault"]
    assert [slot["id"] for slot in result["answer"]["payload"]["slots"]] == ["smith-1", "smith-2"]


async def test_calls_of_tools_are_told_when_quotes_replace_the_model(tmp_path: Path) -> None:
    failed = ScriptedReply(calls=(("get_expert_availability", {"expert": "Nobody"}),))
    async with support(tmp_path, failed, ScriptedReply(status=400)) as (_, client, _script):
        result = await result_of(client, "What is the rent of a garden plot?")

    assert result["engine"] == "extractive"
    assert [call["tool"] for call in result["tool_calls"]] == ["get_expert_availability"]


async def test_a_withdrawn_question_is_recorded_with_its_booking(tmp_path: Path) -> None:
    async with support(tmp_path, "<answer>Hello.</answer>") as (bus, _, _script):
        pipeline = bus.pipelines.current("default")
        assert pipeline
        event = opening("gateway", QuestionWithdrawn(), pipeline=pipeline, deadline_seconds=60)
        await bus.ask(BookRequest(question=event.correlation_id, expert="smith", slot="smith-0"))
        await bus.publish(event)
        recorded = await record_of(bus, event.correlation_id)

    assert recorded.details["effect"]["session"]["slot_id"] == "smith-0"
