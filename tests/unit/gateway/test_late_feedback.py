"""Feedback on what the log has no longer, and comments without the private data in them."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.domain import Answer, Citation, Sentence
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact, FeedbackGiven
from shared.contracts.requests.persistence import Exchange
from tests.unit.gateway.harness import CID, RunningGateway, run, running_gateway
from tests.unit.gateway.neighbours import NOON, joined

ADDRESS = f"/api/v1/questions/{CID}/feedback"
COMMENT = {"rating": "down", "comment": "Write to ann@example.org please."}


def recorded(**fields: Any) -> Exchange:
    """An answered question as the record has it."""
    told: dict[str, Any] = {
        "id": CID,
        "event_id": "e",
        "conversation_id": "c-1",
        "pipeline": "default",
        "pipeline_revision": 1,
        "outcome": "answered",
        "asked_at": NOON,
        "ended_at": NOON,
        "answer": Answer(content="At eight.", sentences=(Sentence(text="At eight.", citations=(1,)),)),
        "citations": (Citation(number=1, source="kb:hours.md", passage="p"),),
        "reuse_key": "place-g1",
        "asker": "a" * 32,
    }
    return Exchange(**{**told, **fields})


def only(here: RunningGateway) -> Event[Fact]:
    """The one rating that was said."""
    (event,) = (event for event in here.bus.history(CID) if isinstance(event.payload, FeedbackGiven))
    return event


async def test_an_answer_that_the_log_has_no_longer_is_rated_as_the_record_has_it() -> None:
    async with running_gateway() as here:
        joined(here).exchange = recorded()

        reply = await here.http.post(ADDRESS, json={"rating": "up", "scores": {"sentences": [100]}})

        event = only(here)
        assert reply.status_code == 202
        assert (event.conversation_id, event.reuse_key, event.asker) == ("c-1", "place-g1", "a" * 32)
        assert isinstance(event.payload, FeedbackGiven)
        assert event.payload.sources == ("kb:hours.md",)


async def test_scores_must_fit_the_answer_on_record() -> None:
    async with running_gateway() as here:
        joined(here).exchange = recorded()

        reply = await here.http.post(ADDRESS, json={"rating": "up", "scores": {"sentences": [100, 100]}})

        assert reply.status_code == 422
        assert "1 sentences" in reply.json()["detail"]


async def test_a_question_that_neither_log_nor_record_knows_cannot_be_rated() -> None:
    async with running_gateway() as here:
        joined(here)

        reply = await here.http.post(ADDRESS, json={"rating": "up"})

        assert reply.status_code == 404


async def test_private_data_is_masked_in_a_comment_before_it_is_published() -> None:
    async with running_gateway() as here:
        joined(here)
        await here.publish(*run("At eight."))

        reply = await here.http.post(ADDRESS, json=COMMENT | {"reason": "bob@example.org"})

        given = here.bus.only(CID, FeedbackGiven)
        assert reply.status_code == 202
        assert (given.comment, given.reason) == ("Write to XXX please.", "XXX")


async def test_the_rules_of_the_default_pipeline_mask_when_that_of_the_question_is_gone() -> None:
    async with running_gateway() as here:
        joined(here).exchange = recorded(pipeline="gone")

        await here.http.post(ADDRESS, json=COMMENT)

        event = only(here)
        assert isinstance(event.payload, FeedbackGiven)
        assert event.payload.comment == "Write to XXX please."


@pytest.mark.parametrize(("body", "status"), [(COMMENT, 503), ({"rating": "up"}, 202)])
async def test_without_moderation_a_rating_is_taken_and_a_comment_is_not(body: dict[str, Any], status: int) -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight."))

        reply = await here.http.post(ADDRESS, json=body)

        assert reply.status_code == status
        assert ("FeedbackGiven" in here.bus.names(CID)) == (status == 202)
