"""The semantic cache through the real stages: what is reused, what is told apart, and what ends the reuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.test_reused_answers import Town, town, until

OPERATOR, CLIENT = "operator-key-0123456789", "client-key-0123456789"
KEYS = f"ops:operator:{OPERATOR},web:client:{CLIENT}"

ON: dict[str, Any] = {"retrieval": {"semantic_cache": {"mode": "on"}}}
RENT = "What is the rent of a garden plot?"
OTHER_WORDS = "Please tell me what the rent of a plot of the garden is"


async def _rent(here: Town) -> dict[str, Any]:
    """The answer, once its question is on record and, where the cache is on, kept."""
    return await here.ask(RENT, language="en")


async def test_a_paraphrase_gets_the_verified_answer_with_its_origin(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        first = await _rent(here)
        again = await here.ask(OTHER_WORDS, language="en")

        assert again["result"]["outcome"] == "reused"
        assert again["result"]["reused"]["origin"] == first["id"]
        for name in ("answer", "citations", "engine", "confidence"):
            assert again["result"][name] == first["result"][name], name
        assert "AnswerReused" in here.bus.names(again["id"])
        assert "PassagesRetrieved" not in here.bus.names(again["id"])


async def test_a_different_question_is_not_answered_from_the_cache(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        await _rent(here)

        for text in (
            "What is not the rent of a garden plot?",
            "Who pays the rent of a garden plot?",
            "What is the rent of a garden plot in 2019?",
            "What is the rent of a garden shed?",
            "What is the rent of a garden plot for students?",
        ):
            assert (await here.ask(text, language="en"))["result"]["outcome"] != "reused", text


async def test_later_questions_of_a_conversation_and_disabled_pipelines_do_not_use_the_cache(tmp_path: Path) -> None:
    async with town(tmp_path / "on", ON) as here:
        await _rent(here)
        await here.ask("Where is the garden?", conversation_id="c-1", language="en")
        assert (await here.ask(OTHER_WORDS, conversation_id="c-1", language="en"))["result"]["outcome"] != "reused"
    async with town(tmp_path / "off", {"retrieval": {"semantic_cache": {"mode": "off"}}}) as here:
        await _rent(here)
        assert (await here.ask(OTHER_WORDS, language="en"))["result"]["outcome"] == "answered"


async def test_a_changed_document_ends_the_reuse(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        await _rent(here)
        await here.write("fifty")

        asked = await here.ask(OTHER_WORDS, language="en")

        assert asked["result"]["outcome"] == "answered"
        assert "fifty" in asked["result"]["answer"]["content"]


@pytest.mark.parametrize("rated", ["first", "again"])
async def test_negative_feedback_on_the_original_or_the_reused_answer_ends_the_reuse(
    tmp_path: Path, rated: str
) -> None:
    async with town(tmp_path, ON) as here:
        asked = {"first": await _rent(here), "again": await here.ask(OTHER_WORDS, language="en")}
        assert asked["again"]["result"]["outcome"] == "reused"

        await here.http.post(asked[rated]["links"]["feedback"], json={"rating": "down"})
        await until(lambda: "FeedbackGiven" in here.bus.names(asked[rated]["id"]))
        await until(lambda: here.bus.idle)

        later = await here.ask("What is the rent of a plot in the garden, please?", language="en")
        assert later["result"]["outcome"] == "answered"


async def test_a_search_as_question_explains_hits_and_misses(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        await _rent(here)
        changes = []
        for query in (OTHER_WORDS, "Who pays the rent of a garden plot?"):
            body = {"query": query, "language": "en", "explain": True, "as_question": True}
            reply = (await here.http.post("/api/v1/search", json=body)).json()
            (step,) = [step for step in reply["explanation"]["steps"] if step["name"] == "semantic_cache"]
            changes.append(step["changes"][0]["what"])

        assert changes[0].startswith(f"reused: {RENT}")
        assert changes[1] == f"not reused: {RENT} (asks who, not what)" or "no counterpart" in changes[1]


async def test_only_an_operator_is_shown_the_questions_of_others_in_an_explanation(tmp_path: Path) -> None:
    async with town(tmp_path, ON, api_keys=KEYS) as here:
        here.http.headers["X-API-Key"] = OPERATOR
        await _rent(here)
        body = {"query": OTHER_WORDS, "language": "en", "explain": True, "as_question": True}
        shown = (await here.http.post("/api/v1/search", json=body)).text
        hidden = (await here.http.post("/api/v1/search", json=body, headers={"X-API-Key": CLIENT})).text

        assert RENT in shown
        assert RENT not in hidden
        assert "only an operator may read" in hidden
