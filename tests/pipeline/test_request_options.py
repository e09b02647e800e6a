"""What a request may choose for itself, where its pipeline allows it: over HTTP, with every stage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.judged import GOOD, RENT, Script, platform, record_of, result_of, tags

LIBRARY = "When is the library open, and who gets a library card?"
ALLOWED = {"request_options": ["top_k", "engine"]}


@pytest.mark.parametrize(("name", "value"), [("top_k", 2), ("engine", "extractive")])
async def test_option_that_the_pipeline_does_not_allow_is_refused_by_name(
    tmp_path: Path, name: str, value: object
) -> None:
    others = [one for one in ALLOWED["request_options"] if one != name]
    async with platform(tmp_path, Script([tags(GOOD)]), gateway={"request_options": others}) as (_, client):
        refused = await client.post("/api/v1/query", json={"question": RENT, name: value})

    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert f"{name}: leave it out" in refused.json()["detail"]


@pytest.mark.parametrize(("name", "value"), [("top_k", 0), ("top_k", 21), ("engine", "crew")])
async def test_option_out_of_range_is_refused(tmp_path: Path, name: str, value: object) -> None:
    async with platform(tmp_path, Script([tags(GOOD)]), gateway=ALLOWED) as (_, client):
        assert (await client.post("/api/v1/query", json={"question": RENT, name: value})).status_code == 422


async def test_question_is_answered_from_as_many_passages_and_by_the_engine_that_it_chose(tmp_path: Path) -> None:
    script = Script([tags(GOOD)])
    async with platform(tmp_path, script, gateway=ALLOWED) as (bus, client):
        as_set = await result_of(client, RENT)
        chosen = await result_of(client, RENT, top_k=1, engine="extractive")
        again = await result_of(client, RENT, top_k=1, engine="extractive")
        library = [await result_of(client, LIBRARY, engine="extractive", **more) for more in ({}, {"top_k": 1})]
        passages = [len((await record_of(bus, one["id"])).passages) for one in library]

    assert as_set["engine"] == "chat"
    assert chosen["engine"] == again["engine"] == "extractive"
    assert passages == [2, 1]
    # Neither is answered from the other's cached answer, nor from its own.
    assert (chosen["outcome"], again["outcome"]) == ("answered", "answered")
    assert len(script.answered) == 1
