"""A question in other words, through the real stages: what is given again, what tells it apart, what takes it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.test_reused_answers import Town, town, until

ON: dict[str, Any] = {"retrieval": {"similar": {"mode": "on"}}}
RENT = "What is the rent of a garden plot?"
OTHER_WORDS = "Please tell me what the rent of a plot of the garden is"


async def _rent(here: Town) -> dict[str, Any]:
    first = await here.ask(RENT, language="en")
    await until(lambda: "ExchangeRecorded" in here.bus.names(first["id"]))
    await until(lambda: here.bus.idle)
    return first


async def test_the_same_question_in_other_words_gets_the_verified_answer_marked_with_its_origin(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        first = await _rent(here)
        again = await here.ask(OTHER_WORDS, language="en")

        assert again["result"]["outcome"] == "reused"
        assert again["result"]["reused"]["origin"] == first["id"]
        for name in ("answer", "citations", "engine", "confidence"):
            assert again["result"][name] == first["result"][name], name
        assert "AnswerReused" in here.bus.names(again["id"])
        assert "PassagesRetrieved" not in here.bus.names(again["id"])


async def test_what_asks_something_else_is_answered_by_itself(tmp_path: Path) -> None:
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


async def test_after_an_answer_in_the_conversation_and_where_it_is_off_nothing_is_given_again(tmp_path: Path) -> None:
    async with town(tmp_path / "on", ON) as here:
        await _rent(here)
        await here.ask("Where is the garden?", conversation_id="c-1", language="en")
        assert (await here.ask(OTHER_WORDS, conversation_id="c-1", language="en"))["result"]["outcome"] != "reused"
    async with town(tmp_path / "off", {"retrieval": {"similar": {"mode": "off"}}}) as here:
        await _rent(here)
        assert (await here.ask(OTHER_WORDS, language="en"))["result"]["outcome"] == "answered"


async def test_a_changed_document_takes_the_answer_back(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        await _rent(here)
        await here.write("fifty")

        asked = await here.ask(OTHER_WORDS, language="en")

        assert asked["result"]["outcome"] == "answered"
        assert "fifty" in asked["result"]["answer"]["content"]


@pytest.mark.parametrize("rated", ["first", "again"])
async def test_a_thumb_down_takes_the_answer_back_also_where_it_was_given_again(tmp_path: Path, rated: str) -> None:
    async with town(tmp_path, ON) as here:
        asked = {"first": await _rent(here), "again": await here.ask(OTHER_WORDS, language="en")}
        assert asked["again"]["result"]["outcome"] == "reused"

        await here.http.post(asked[rated]["links"]["feedback"], json={"rating": "down"})
        await until(lambda: "FeedbackGiven" in here.bus.names(asked[rated]["id"]))
        await until(lambda: here.bus.idle)

        later = await here.ask("What is the rent of a plot in the garden, please?", language="en")
        assert later["result"]["outcome"] == "answered"


async def test_a_search_as_a_question_says_what_was_taken_and_why_not(tmp_path: Path) -> None:
    async with town(tmp_path, ON) as here:
        await _rent(here)
        told = []
        for query in (OTHER_WORDS, "Who pays the rent of a garden plot?"):
            body = {"query": query, "language": "en", "explain": True, "as_question": True}
            reply = (await here.http.post("/api/v1/search", json=body)).json()
            (step,) = [step for step in reply["explanation"]["steps"] if step["name"] == "similar"]
            told.append(step["changes"][0]["what"])

        assert told[0].startswith(f"taken: {RENT}")
        assert told[1] == f"not taken: {RENT} (asks who, not what)" or "no counterpart" in told[1]
