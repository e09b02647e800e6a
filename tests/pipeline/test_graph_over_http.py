"""The knowledge graph through the real stages and over HTTP: of a document, of a question, by name, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shared.contracts.tenants import TENANT_HEADER
from tests.pipeline.test_document_groups import Harbour, harbour
from tests.pipeline.test_reused_answers import Town, town, until

GAUGE = "# River Gauge\n\nA river gauge is a device. It measures the level of the water.\n"
WARNING = "# Flood Warning\n\nThe warning is sent at once.\n\nA flood warning uses the river gauge of every town.\n"
SECRET = "# Secret Siren\n\nThe secret siren depends on the flood warning of the river gauge.\n"
QUESTION = "What does a flood warning use?"


async def _get(here: Harbour, name: str, path: str, **parameters: Any) -> Any:
    async with here.http(name) as http:
        reply = await http.get(f"/api/v1/graph{path}", params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def _status(here: Harbour, name: str, path: str, **parameters: Any) -> int:
    async with here.http(name) as http:
        return (await http.get(f"/api/v1/graph{path}", params=parameters)).status_code


async def _waters(here: Harbour) -> None:
    await here.ingest("kb:gauge.md", GAUGE)
    await here.ingest("kb:warning.md", WARNING)
    await here.ingest("kb:siren.md", SECRET, "staff")


def _ids(page: dict[str, Any]) -> set[str]:
    return {one["id"] for one in page["entities"]}


async def test_graph_of_a_document_has_its_entities_and_what_relates_them(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)

        page = await _get(here, "ed", "/entities", source="kb:warning.md")

        assert {"flood warning", "river gauge"} <= _ids(page)
        (uses,) = (one for one in page["relations"] if one["kind"] == "uses")
        assert (uses["subject"], uses["target"], uses["sources"]) == ("flood warning", "river gauge", ["kb:warning.md"])
        (gauge,) = (one for one in page["entities"] if one["id"] == "river gauge")
        assert (gauge["name"], gauge["kind"]) == ("River Gauge", "technology")


async def test_graph_of_a_document_comes_page_by_page(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)
        whole = _ids(await _get(here, "ed", "/entities", source="kb:warning.md"))

        found: list[str] = []
        after = 0
        while True:
            page = await _get(here, "ed", "/entities", source="kb:warning.md", limit=1, after=after)
            found += _ids(page)
            after = page["after"]
            if not after:
                break
        assert sorted(found) == sorted(whole)


async def test_entity_is_told_with_the_passages_that_prove_its_relations(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)

        told = await _get(here, "ed", "/entities/flood%20warning")

        assert told["entity"]["name"] == "Flood Warning"
        (uses,) = (one for one in told["relations"] if one["kind"] == "uses")
        assert [one["source"] for one in uses["passages"]] == ["kb:warning.md"]
        assert "uses the river gauge" in uses["passages"][0]["text"]
        assert "river gauge" in _ids(told)
        assert any("sent at once" in one["text"] for one in told["passages"])
        assert await _status(here, "ed", "/entities/nobody%20knows") == 404
        between = await _get(here, "ed", "/entities/flood%20warning", other="river gauge")
        assert [one for one in between["relations"] if one["kind"] == "uses"] == [uses]
        assert (await _get(here, "ed", "/entities/flood%20warning", other="siren"))["relations"] == []


async def test_relations_of_an_entity_come_page_by_page(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await here.ingest("kb:gauge.md", GAUGE)
        for name in ("North", "South", "West"):
            await here.ingest(f"kb:{name}.md", f"# {name} Station\n\nThe station uses a river gauge.\n")

        subjects: list[str] = []
        after = 0
        while True:
            page = await _get(here, "ops", "/entities/river%20gauge", limit=2, after=after)
            subjects += [one["subject"] for one in page["relations"]]
            after = page["after"]
            if not after:
                break
        assert len(subjects) == len(set(subjects)) >= 3


async def test_entities_are_found_by_words_of_their_names_and_by_kind(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)

        assert "river gauge" in _ids(await _get(here, "ed", "/entities", text="River gau"))
        assert _ids(await _get(here, "ed", "/entities", text="river", kind="person")) == set()
        assert "river gauge" in _ids(await _get(here, "ed", "/entities", kind="technology"))
        assert await _status(here, "ed", "/entities", kind="animal") == 422
        assert await _status(here, "ed", "/entities", text="river", source="kb:gauge.md") == 422


async def test_nothing_is_told_of_documents_that_the_caller_may_not_read(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)

        # The editor is in no group: neither the entity, nor the relation, nor the passage exists.
        assert _ids(await _get(here, "ed", "/entities", text="secret siren")) == set()
        assert await _status(here, "ed", "/entities/secret%20siren") == 404
        assert await _status(here, "ed", "/entities", source="kb:siren.md") == 404
        gauge = await _get(here, "ed", "/entities/flood%20warning")
        assert "siren" not in str(gauge).lower()
        # An operator is shown all.
        assert "secret siren" in _ids(await _get(here, "ops", "/entities", text="secret"))
        assert "secret siren" in _ids(await _get(here, "ops", "/entities/flood%20warning"))
        # A client is shown no graph.
        assert await _status(here, "guest", "/entities") == 403


async def test_graph_of_a_question_has_the_entities_of_its_passages(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)
        asked = await here.ask("ed", QUESTION)

        page = await _get(here, "ed", "/entities", question=asked["id"])
        assert {"flood warning", "river gauge"} <= _ids(page)
        assert any(one["kind"] == "uses" for one in page["relations"])
        # Of another asker's question an editor is told nothing, an operator is.
        other = await here.ask("guest", QUESTION)
        assert await _status(here, "ed", "/entities", question=other["id"]) == 404
        assert "flood warning" in _ids(await _get(here, "ops", "/entities", question=other["id"]))
        assert await _status(here, "ops", "/entities", question="0" * 32) == 404
        assert await _status(here, "ops", "/entities", question="not-an-id") == 422


async def test_graph_of_a_question_is_read_from_the_record_once_the_log_has_it_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)
        asked = await here.ask("ed", QUESTION)
        await until(lambda: bool(here.town.recorded(asked["id"])))
        history = here.town.bus.log.history

        async def expired(correlation_id: str) -> Any:
            return [] if correlation_id == asked["id"] else await history(correlation_id)

        monkeypatch.setattr(here.town.bus.log, "history", expired)

        assert "flood warning" in _ids(await _get(here, "ed", "/entities", question=asked["id"]))


async def test_removed_document_takes_its_entities_with_it(tmp_path: Path) -> None:
    async with harbour(tmp_path) as here:
        await _waters(here)
        async with here.http("ed") as http:
            reply = await http.delete("/api/v1/documents", params={"source": "kb:warning.md"})
        assert reply.status_code == 200

        assert await _status(here, "ed", "/entities/flood%20warning") == 404
        assert await _status(here, "ed", "/entities", source="kb:warning.md") == 404


async def test_graph_is_that_of_the_tenant(tmp_path: Path) -> None:
    async with town(tmp_path, tenants=("other",)) as here:
        document = {"source": "kb:gauge.md", "text": GAUGE, "media_type": "text/markdown"}
        assert (await here.http.post("/api/v1/ingest", json={"documents": [document]})).status_code == 200

        assert await _found(here, {}) == 200
        assert await _found(here, {TENANT_HEADER: "other"}) == 404


async def _found(here: Town, headers: dict[str, str]) -> int:
    return (await here.http.get("/api/v1/graph/entities/river%20gauge", headers=headers)).status_code
