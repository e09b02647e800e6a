"""Named agents: what the orchestrator hands to them, what they do with it, and what a later turn knows of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from services.answer.engines.agent import AgentEngine
from services.answer.engines.extractive import ExtractiveEngine
from services.answer.handler import Answerer
from services.answer.settings import AnswerSettings
from services.answer.tools.registry import tools
from services.answer.tools.web_clients import WebClients
from shared.contracts.domain import DialogueState, Question, Turn
from shared.contracts.errors import ModelError
from shared.contracts.facts import AnswerDrafted, PassagesRetrieved
from shared.contracts.requests.directory import AvailabilityReply, BookRequest
from shared.runtime.settings import Settings
from tests.support.scripted_models import ScriptedModels
from tests.unit.answer.test_agent import (
    GIVEN,
    SESSION,
    SLOT,
    SMITH,
    FakeRequests,
    TokenRecorder,
    call,
    envelope,
    using,
)

BOOKING = {
    "name": "booking",
    "description": "Finds experts and books sessions.",
    "prompt": "You find experts and book sessions with them.",
    "tools": ["search_experts", "get_expert_availability", "book_session", "search_context"],
    "role": "main",
}
CONTENT = {
    "name": "content",
    "description": "Finds articles and videos.",
    "prompt": "You find articles and videos.",
    "tools": ["search_content"],
    "role": "fast",
}
SETTINGS = AnswerSettings.model_validate(
    {
        "engine": "agent",
        "uncited": True,
        "tools": ["search_content"],
        "agents": [CONTENT, BOOKING],
        "unconfirmed_tools": ["book_session"],
    }
)
BOOK = call("book_session", expert="smith", slot="smith-1")


async def answer(
    models: ScriptedModels,
    requests: FakeRequests | None = None,
    *,
    turns: tuple[Turn, ...] = (),
    settings: AnswerSettings = SETTINGS,
) -> AnswerDrafted:
    agent = AgentEngine(models, tools(requests or FakeRequests(), WebClients(Settings())))
    answerer = Answerer({"extractive": ExtractiveEngine(), "agent": agent}, TokenRecorder(), models)
    question = Question(text="Book me a session about anxiety", language="eng", turns=turns)
    retrieved = PassagesRetrieved(question=question, passages=(GIVEN,))
    drafted = await answerer.answer(retrieved, envelope(), settings)
    assert isinstance(drafted, AnswerDrafted)
    return drafted


def scripted(**steps: Any) -> ScriptedModels:
    return ScriptedModels(**{name.replace("agent_", "agent."): replies for name, replies in steps.items()})


async def test_a_request_is_handed_to_a_named_agent_whose_report_the_orchestrator_reads() -> None:
    models = scripted(
        answer=[using(call("ask_content", request="Articles about stress")), "<answer>I found one.</answer>"],
        agent_content=[using(call("search_content", topic="stress")), "There is Less stress (a1)."],
    )

    draft = await answer(models)

    assert draft.answer.content == "I found one."
    assert draft.answer.payload
    assert draft.answer.payload["type"] == "content_recommendations"
    sub, orchestrator = models.calls[1], models.calls[3]
    assert sub.messages[0].text.startswith("You find articles and videos.")
    assert "Articles about stress" in sub.messages[1].text
    assert orchestrator.messages[-1].text == "<report>\nThere is Less stress (a1).\n</report>"


async def test_the_orchestrator_may_answer_itself_or_use_its_own_tools() -> None:
    itself = await answer(scripted(answer=["<answer>How are you today?</answer>"]))
    own = await answer(scripted(answer=[using(call("search_content", topic="stress")), "Here you are."]))

    assert itself.tool_calls == ()
    assert [one["tool"] for one in own.tool_calls] == ["search_content"]


async def test_an_agent_has_its_own_tools_only_and_the_model_of_its_role() -> None:
    models = scripted(
        answer=[using(call("ask_content", request="Book it")), "No."],
        agent_content=[using(BOOK), "I cannot book."],
    )
    requests = FakeRequests()

    draft = await answer(models, requests)

    assert requests.asked == []
    assert [(one["tool"], one["ok"]) for one in draft.tool_calls] == [("ask_content", True), ("book_session", False)]
    assert [one.role for one in models.calls[:2]] == ["main", "fast"]


async def test_calls_of_an_agent_are_recorded_after_the_call_that_started_it_with_its_name() -> None:
    models = scripted(
        answer=[
            using(call("ask_booking", request="Book Dr. Smith"), call("search_content", topic="stress")),
            "<answer>All done.</answer>",
        ],
        agent_booking=[using(call("get_expert_availability", expert="smith")), using(BOOK), "Booked smith-1."],
    )

    draft = await answer(models)

    assert [(one["tool"], one.get("agent", "")) for one in draft.tool_calls] == [
        ("ask_booking", ""),
        ("get_expert_availability", "booking"),
        ("book_session", "booking"),
        ("search_content", ""),
    ]


async def test_what_an_agent_books_is_told_to_the_asker_whatever_the_orchestrator_writes() -> None:
    models = scripted(
        answer=[using(call("ask_booking", request="Book Dr. Smith")), "<answer>See you!</answer>"],
        agent_booking=[using(BOOK), "Booked smith-1."],
    )

    draft = await answer(models)

    assert draft.effect
    assert draft.effect.payload["session"]["slot_id"] == "smith-1"
    assert draft.answer.content.startswith("Your session with Dr. Smith is booked")
    assert draft.answer.payload
    assert draft.answer.payload["type"] == "session_booked"


async def test_an_agent_that_fails_after_it_booked_has_booked_and_the_orchestrator_is_told_that_it_failed() -> None:
    models = scripted(
        answer=[using(call("ask_booking", request="Book Dr. Smith")), "<answer>See you!</answer>"],
        agent_booking=[using(BOOK), ModelError("nobody answers")],
    )

    draft = await answer(models)

    assert draft.effect
    assert [(one["tool"], one["ok"]) for one in draft.tool_calls] == [("ask_booking", False), ("book_session", True)]
    told = next(one for one in models.calls[3].messages if one.type == "tool")
    assert told.text == "<failed>\nnobody answers\n</failed>"


async def test_passages_that_an_agent_found_can_be_cited() -> None:
    models = scripted(
        answer=[
            using(call("ask_booking", request="What does it cost?")),
            "<answer>Sessions cost nothing. [2]</answer>",
        ],
        agent_booking=[using(call("search_context", query="fees")), "Sessions cost nothing. [2]"],
    )

    draft = await answer(models)

    assert [one.source for one in draft.citations] == ["kb:fees.md"]


async def test_an_address_that_an_agent_made_up_is_no_source_for_the_answer() -> None:
    models = scripted(
        answer=[
            using(call("ask_content", request="Articles")),
            "<answer>Read https://made-up.example/page now.</answer>",
        ],
        agent_content=["There is https://made-up.example/page."],
    )

    draft = await answer(models)

    assert "made-up.example" not in draft.answer.content


async def test_an_agent_that_keeps_calling_tools_is_stopped_after_its_steps() -> None:
    settings = SETTINGS.model_copy(update={"agents": (SETTINGS.agents[0].model_copy(update={"max_steps": 2}),)})
    models = scripted(
        answer=[using(call("ask_content", request="More")), "<answer>Sorry.</answer>"],
        agent_content=[using(call("search_content", topic="a")), using(call("search_content", topic="b"))],
    )

    draft = await answer(models, settings=settings)

    assert [(one["tool"], one["ok"]) for one in draft.tool_calls] == [("ask_content", False), ("search_content", True)]
    assert models.calls[2].tools == ()


async def test_ids_of_earlier_results_and_the_state_are_in_the_prompts_of_orchestrator_and_agent() -> None:
    slots = AvailabilityReply(expert=SMITH, slots=(SLOT,)).slots
    shown = {"type": "expert_availability", "expert": {"id": "smith"}, "slots": [{"id": one.id} for one in slots]}
    turn = Turn(
        question="When is Dr. Smith free?",
        answer="On Monday.",
        results=(shown,),
        state=DialogueState(intent="booking", expert_id="smith"),
    )
    models = scripted(
        answer=[using(call("ask_booking", request="Book it")), "<answer>Done.</answer>"],
        agent_booking=[using(BOOK), "Booked."],
    )

    await answer(models, turns=(turn,))

    for messages in (models.calls[0].messages, models.calls[1].messages):
        assert '<results-shown-then>\n{"type": "expert_availability", "expert": {"id": "smith"}' in messages[1].text
        assert '<conversation-state>\n{"intent": "booking", "expert_id": "smith"}' in messages[1].text


async def test_the_state_of_the_conversation_follows_what_tools_did() -> None:
    requests = FakeRequests()
    found = await answer(
        scripted(answer=[using(call("search_content", topic="stress", type="videos")), "<answer>Here.</answer>"]),
        requests,
    )
    models = scripted(
        answer=[using(call("ask_booking", request="Book Dr. Smith")), "<answer>Done.</answer>"],
        agent_booking=[
            using(call("search_experts", sessionType="general"), call("get_expert_availability", expertId="smith")),
            using(BOOK),
            "Booked.",
        ],
    )
    booked = await answer(models, turns=(Turn(question="Q", answer="A", state=found.answer.state),))

    assert found.answer.state == DialogueState(
        intent="content",
        content_topic="stress",
        content_type="videos",
        content_language="eng",
        agent_completed="content",
    )
    assert booked.answer.state == DialogueState(
        intent="booking",
        session_type="general",
        expert_id=SESSION.expert_id,
        slot_id=SESSION.slot_id,
        content_topic="stress",
        content_type="videos",
        content_language="eng",
        agent_completed="booking",
    )


async def test_names_of_arguments_as_other_programs_write_them_are_read() -> None:
    requests = FakeRequests()
    models = scripted(
        answer=[using(call("ask_booking", request="Book")), "<answer>Done.</answer>"],
        agent_booking=[using(call("book_session", expertId="smith", slotId="smith-1", sessionType="video")), "Booked."],
    )

    await answer(models, requests)

    ((_, request),) = requests.asked
    assert isinstance(request, BookRequest)
    assert (request.expert, request.slot, request.session_type) == ("smith", "smith-1", "video")


@pytest.mark.parametrize(
    ("agents", "says"),
    [
        ([CONTENT, CONTENT], "two agents are called content"),
        ([{**CONTENT, "tools": []}], "at least 1"),
        ([{**CONTENT, "name": "Content agent"}], "pattern"),
        ([{**CONTENT, "tools": ["delete_everything"]}], "search_context"),
    ],
)
def test_agents_that_cannot_work_are_refused(agents: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        AnswerSettings.model_validate({"agents": agents})
