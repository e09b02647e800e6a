"""Documents with metadata over HTTP: submitted, listed, and what searches and questions are narrowed by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.judged import Script, platform, result_of

TEXTS = {
    "travel": "Travel claims are due within 60 days of the trip.",
    "leave": "Leave claims are due within 10 days of the absence.",
}
QUESTION = "When are claims due?"
QUOTED: dict[str, dict[str, Any]] = {"answer": {"engine": "extractive", "min_answerable": 0}, "verifier": {}}


def submitted(name: str) -> dict[str, Any]:
    return {"source": f"kb:{name}.txt", "text": TEXTS[name], "metadata": {"Category": name}}


async def test_metadata_of_documents_narrows_searches_and_questions(tmp_path: Path) -> None:
    sections = {**QUOTED, "gateway": {"request_options": ["metadata"]}}
    async with platform(tmp_path, Script([]), corpus=(), **sections) as (_, client):
        sent = await client.post("/api/v1/ingest", json={"documents": [submitted("travel"), submitted("leave")]})
        assert sent.json()["counts"] == {"indexed": 2}
        raw = await client.post("/api/v1/documents?source=kb:raw.txt&metadata=category=raw", content=b"Raw.")
        assert raw.status_code == 202
        listed = (await client.get("/api/v1/documents")).json()["documents"]
        body = {"query": "claims due", "metadata": {"category": ["leave"]}}
        found = (await client.post("/api/v1/search", json=body)).json()["passages"]
        answers = [
            (await result_of(client, QUESTION, metadata={"category": [name]}))["answer"]["content"] for name in TEXTS
        ]

    assert {one["source"]: one["metadata"] for one in listed}["kb:travel.txt"] == {"category": "travel"}
    assert [one["source"] for one in found] == ["kb:leave.txt"]
    assert found[0]["metadata"] == {"category": "leave"}
    assert ["60 days" in answers[0], "10 days" in answers[1]] == [True, True]
    assert "10 days" not in answers[0]


async def test_pipeline_may_answer_from_documents_with_its_metadata_only(tmp_path: Path) -> None:
    sections = {**QUOTED, "retrieval": {"metadata": {"category": ["leave"]}}}
    async with platform(tmp_path, Script([]), corpus=(), **sections) as (_, client):
        await client.post("/api/v1/ingest", json={"documents": [submitted("travel"), submitted("leave")]})
        result = await result_of(client, QUESTION)
        # The request cannot widen it, and may not choose for itself here.
        narrowed = await client.post(
            "/api/v1/search", json={"query": "claims due", "metadata": {"category": ["travel"]}}
        )
        refused = await client.post("/api/v1/query", json={"question": QUESTION, "metadata": {"category": ["travel"]}})

    assert {one["source"] for one in result["citations"]} == {"kb:leave.txt"}
    assert narrowed.json()["passages"] == []
    assert refused.status_code == 422


async def test_category_of_a_question_leaves_documents_with_its_metadata_where_there_are_any(tmp_path: Path) -> None:
    categories = [
        {"name": "travel", "words": ["trip", "mileage"], "metadata": {"category": ["travel"]}},
        {"name": "parking", "words": ["parking"], "metadata": {"category": ["parking"]}},
    ]
    sections = {**QUOTED, "retrieval": {"categories": {"categories": categories}}}
    async with platform(tmp_path, Script([]), corpus=(), **sections) as (_, client):
        await client.post("/api/v1/ingest", json={"documents": [submitted("travel"), submitted("leave")]})
        searched = []
        for query in ("claims due after a trip", "claims due for parking"):
            reply = await client.post("/api/v1/search", json={"query": query, "explain": True})
            searched.append({one["source"] for one in reply.json()["passages"]})

    assert searched == [{"kb:travel.txt"}, {"kb:travel.txt", "kb:leave.txt"}]


async def test_metadata_that_no_document_can_have_is_refused(tmp_path: Path) -> None:
    async with platform(tmp_path, Script([]), corpus=(), **QUOTED) as (_, client):
        document = {**submitted("travel"), "metadata": {"a b": "x"}}
        replies = [
            await client.post("/api/v1/ingest", json={"documents": [document]}),
            await client.post("/api/v1/search", json={"query": "q", "metadata": {"category": []}}),
            await client.post("/api/v1/documents?source=kb:x&metadata=nothing", content=b"x"),
        ]

    assert [reply.status_code for reply in replies] == [422, 422, 422]
