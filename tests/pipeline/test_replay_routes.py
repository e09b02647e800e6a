"""Replays over HTTP, on all stages in memory: from a step, with an edit, other settings; and their difference."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared.contracts.domain import Document
from shared.contracts.pipelines import is_candidate
from shared.runtime.settings import Settings
from tests.support.judged import GOOD, RENT, Script, platform, result_of, tags
from tests.support.speed import limit

LIST = "/api/v1/questions"


@asynccontextmanager
async def asked(folder: Path, *said: str, **settings: Any) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """A client, and the id of a question that was answered."""
    process = Settings(data_dir=folder, port=0, **({"operator_credentials": "own"} | settings))
    script = Script([tags(one) for one in said or (GOOD,)], questions={"questions": []})
    async with platform(folder, script, settings=process, gateway={"cache": "off"}) as (_, client):
        yield client, (await result_of(client))["id"]


async def replayed(client: httpx.AsyncClient, cid: str, body: dict[str, Any]) -> dict[str, Any]:
    """Start a replay and wait for its ending: its difference to the question, with the reply to the request."""
    reply = await client.post(f"{LIST}/{cid}/replays", json=body)
    assert reply.status_code == 202, reply.text
    started = reply.json()
    async with asyncio.timeout(limit(30)):
        while (await client.get(started["links"]["timeline"])).json()["status"] == "running":  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return {**(await client.get(started["links"]["difference"])).json(), "started": started}


async def test_a_question_is_replayed_from_a_step_with_an_edit_and_other_settings(tmp_path: Path) -> None:
    async with asked(tmp_path) as (client, cid):
        facts = (await client.get(f"{LIST}/{cid}/timeline")).json()["facts"]
        found = next(one["payload"] for one in facts if one["fact"] == "PassagesRetrieved")
        edit = {"passages": [{**found["passages"][0], "text": "The rent of a garden plot is ninety euros."}]}
        body = {"start": "PassagesRetrieved", "edit": edit, "changes": ["answer.engine=extractive"]}
        compared = await replayed(client, cid, body)
        lines = (await client.get(LIST, params={"parent": cid})).json()["questions"]

    started = compared["started"]
    assert (started["parent"], started["start"]) == (cid, "PassagesRetrieved.0")
    assert is_candidate(started["pipeline"])
    assert "forty" in compared["left"]["answer"]
    assert "ninety" in compared["right"]["answer"]
    assert {kind for kind, _ in compared["words"]} == {"=", "-", "+"}
    assert [one["id"] for one in lines] == [started["id"]]


async def test_a_replay_without_changes_gives_the_same_answer_from_the_same_passages(tmp_path: Path) -> None:
    async with asked(tmp_path) as (client, cid):
        compared = await replayed(client, cid, {"start": "retrieval"})

    assert (compared["words"], compared["gained"], compared["lost"], compared["moved"]) == ([], [], [], [])
    assert compared["started"]["start"] == "QuestionCleared.0"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"start": "nowhere"}, "start: nowhere"),
        ({"start": "AnswerDrafted.7"}, "start: AnswerDrafted.7"),
        ({"pipeline": "none"}, "pipeline: there is no 'none'"),
        ({"pipeline": "default@999"}, "999"),
        ({"pipeline": "default@x"}, "revision"),
        ({"changes": ["answer.engine=typewriter"]}, "engine"),
        ({"start": "answer", "edit": {"passagess": []}}, "passagess"),
        ({"start": "a/b"}, "start"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_a_replay_that_makes_no_sense_is_refused_and_nothing_is_stored(
    tmp_path: Path, body: dict[str, Any], told: str
) -> None:
    async with asked(tmp_path) as (client, cid):
        reply = await client.post(f"{LIST}/{cid}/replays", json=body)
        lines = (await client.get(LIST, params={"parent": cid})).json()["questions"]

    assert (reply.status_code, lines) == (422, [])
    assert told in reply.json()["detail"]


async def test_an_unknown_question_is_not_replayed(tmp_path: Path) -> None:
    async with asked(tmp_path) as (client, _):
        reply = await client.post(f"{LIST}/{'e' * 32}/replays", json={})

    assert reply.status_code == 404


async def test_without_an_operators_rights_a_replay_is_refused_with_the_setting_that_gives_them(tmp_path: Path) -> None:
    async with asked(tmp_path, operator_credentials="") as (client, cid):
        reply = await client.post(f"{LIST}/{cid}/replays", json={})

    assert (reply.status_code, reply.json()["setting"]) == (501, "ANSWERBUS_OPERATOR_CREDENTIALS")


async def test_an_operator_replays_questions_of_the_own_tenant_only(tmp_path: Path) -> None:
    keys = "ops:operator:operator-key-012345,far:operator:far-key-0123456789"
    settings = {"api_keys": keys, "tenants": "elsewhere", "key_tenants": "far:elsewhere,ops:default"}
    process = Settings(data_dir=tmp_path, port=0, operator_credentials="own", **settings)
    script = Script([tags(GOOD)], questions={"questions": []})
    corpus: list[Document] = []
    async with platform(tmp_path, script, settings=process, corpus=corpus) as (bus, client):
        client.headers["X-API-Key"] = "operator-key-012345"
        cid = (await result_of(client, RENT))["id"]
        client.headers["X-API-Key"] = "far-key-0123456789"
        before = len(bus.log.stored)
        reply = await client.post(f"{LIST}/{cid}/replays", json={})
        assert len(bus.log.stored) == before

    assert reply.status_code == 404
