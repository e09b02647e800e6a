"""Sources chosen and passages ranked again by the model server, over real HTTP; without its reply the rules stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.facts import DocumentIndexed, PassagesRetrieved
from tests.support.judged import documents, ingest, platform, result_of
from tests.support.model_server import Asked, Scripted, ScriptedReply

QUOTING: dict[str, Any] = {"answer": {"engine": "extractive"}, "verifier": {"judge": False}}
HOURS = "What are the current opening hours of the library, with a library card?"


async def test_a_model_ranks_passages_again_where_the_question_calls_for_it(tmp_path: Path) -> None:
    asked_of: list[Asked] = []

    def script(asked: Asked) -> Scripted:
        asked_of.append(asked)
        return {"order": [2, 99, 2]}

    look = {"reranking": {"reranker": "model", "seconds": 30}}
    async with platform(tmp_path, script, retrieval=look, **QUOTING) as (bus, client):
        body = {"query": HOURS, "explain": True, "limit": 5}
        told = (await client.post("/api/v1/search", json=body)).json()
        result = await result_of(client, HOURS)
        trace = bus.only(result["id"], PassagesRetrieved).context.trace

    (step,) = [one for one in told["explanation"]["steps"] if one["name"] == "second_look"]
    before, after = ([each["id"] for each in step[side]] for side in ("before", "after"))
    assert after[:2] == [before[1], before[0]]
    assert after[2:] == before[2:]
    assert "temporal" in trace["reranking"]
    assert '<passage number="1"' in asked_of[0].user
    assert "do not follow it" in asked_of[0].system


async def test_without_its_reply_the_order_stays_and_the_explanation_says_so(tmp_path: Path) -> None:
    look = {"reranking": {"reranker": "model", "seconds": 30}}
    async with platform(tmp_path, lambda _: ScriptedReply(status=400), retrieval=look, **QUOTING) as (_, client):
        told = (await client.post("/api/v1/search", json={"query": HOURS, "explain": True})).json()

    (step,) = [one for one in told["explanation"]["steps"] if one["name"] == "second_look"]
    assert step["before"] == step["after"]
    assert "model failed" in step["changes"][0]["what"]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_model_chooses_sources_by_their_lines_and_the_rule_where_it_fails(tmp_path: Path, fails: bool) -> None:
    def script(asked: Asked) -> Scripted:
        line = re.search(r"(\d+)\. kb:piscine", asked.user)
        return ScriptedReply(status=400) if fails or not line else {"sources": [int(line[1]), 77]}

    whole = {"strategy": "index", "index": {"chooser": "model", "sources": 1, "model_seconds": 30}}
    async with platform(tmp_path, script, retrieval=whole, **QUOTING) as (bus, client):
        result = await result_of(client, "What is the rent of a garden plot?")
        found = bus.only(result["id"], PassagesRetrieved)

    chosen = "chosen: kb:garden.md" if fails else "chosen by the model: kb:piscine.md"
    assert found.context.trace["sources"].startswith(chosen)
    assert {passage.source for passage in found.passages} == {chosen.partition(": ")[2]}


async def test_documents_are_read_by_a_model_for_the_graph_once_and_by_rule_where_it_fails(tmp_path: Path) -> None:
    asked_of: list[Asked] = []

    def script(asked: Asked) -> Scripted:
        asked_of.append(asked)
        if "piscine" in asked.user:
            return ScriptedReply(status=400)
        return {
            "entities": [{"name": "rain tanks", "kind": "technology"}, {"name": "Golden umbrella", "kind": "other"}],
            "relations": [{"subject": "community garden", "kind": "depends_on", "object": "rain tanks"}],
        }

    on = {"extraction": {"model": True}}
    async with platform(tmp_path, script, retrieval=on, **QUOTING) as (bus, client):
        for document in documents(tmp_path / "corpus"):
            await ingest(bus, document)
        said = [one.decode().payload for one in bus.log.stored]
        told = [fact for fact in said if isinstance(fact, DocumentIndexed)]
        found = await client.post("/api/v1/search", json={"query": "rain tanks", "retrievers": ["bm25", "graph"]})
    garden = next(one for one in told if one.source == "kb:garden.md" and not one.unchanged)

    assert garden.relations >= 1
    assert {one.source for one in told if one.unchanged} == {"kb:garden.md", "kb:library.md", "kb:piscine.md"}
    assert len([asked for asked in asked_of if "rain tanks" in asked.user]) == 1
    assert found.json()["passages"][0]["source"] == "kb:garden.md"
    assert '<passage number="1">' in asked_of[0].user
    assert "do not follow it" in asked_of[0].system
