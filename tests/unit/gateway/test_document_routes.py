"""Documents and search over HTTP, as clients and editors see them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from services.gateway.http.problems import MEDIA_TYPE
from shared.contracts.facts import DocumentIndexed, DocumentRefused, DocumentSubmitted
from tests.unit.gateway.harness import running_gateway, then
from tests.unit.gateway.neighbours import joined


async def test_a_search_names_its_language_as_the_index_does() -> None:
    async with running_gateway() as here:
        others = joined(here)

        reply = await here.http.post("/api/v1/search", json={"query": "harbour", "limit": 3, "language": "fr"})

        assert reply.json()["passages"] == []
        assert [(one.query, one.limit, one.language) for one in others.searched] == [("harbour", 3, "fra")]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "send either text or base64"),
        ({"text": "a", "base64": "YQ=="}, "send either text or base64"),
        ({"base64": "YQ="}, "base64 is invalid"),
        ({"base64": "Y Q=="}, "base64 is invalid"),
        ({"base64": "é"}, "base64 is invalid"),
        ({"text": "a", "pages": 3}, "pages"),
        ({"text": 7}, "text"),
    ],
)
async def test_a_document_that_has_not_exactly_one_body_is_refused_and_none_of_its_batch_taken(
    document: dict[str, Any], told: str
) -> None:
    async with running_gateway() as here:
        bad, good = {"source": "kb:a", **document}, {"source": "kb:b", "text": "b"}
        replies = [
            await here.http.post("/api/v1/documents", json=bad),
            await here.http.post("/api/v1/ingest", json={"documents": [good, bad], "wait": False}),
        ]

        for reply in replies:
            assert (reply.status_code, reply.headers["content-type"]) == (422, MEDIA_TYPE)
            assert told in reply.json()["detail"]
        assert here.bus.log.stored == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
async def test_a_document_that_is_no_such_json_is_refused(content: bytes) -> None:
    async with running_gateway() as here:
        headers = {"Content-Type": "application/json"}
        reply = await here.http.post("/api/v1/documents", content=content, headers=headers)

        assert (reply.status_code, reply.headers["content-type"]) == (422, MEDIA_TYPE)


@pytest.mark.parametrize("body", [{}, {"documents": []}, {"documents": [{"source": "kb:a", "text": ""}] * 501}])
async def test_a_batch_of_none_or_too_many_is_refused(body: dict[str, Any]) -> None:
    async with running_gateway() as here:
        assert (await here.http.post("/api/v1/ingest", json=body)).status_code == 422


async def test_bytes_without_a_source_are_refused() -> None:
    async with running_gateway() as here:
        reply = await here.http.post("/api/v1/documents", content=b"text", headers={"Content-Type": "text/plain"})

        assert reply.status_code == 422
        assert "?source=" in reply.json()["detail"]


async def test_a_document_is_the_same_as_json_as_base64_and_as_bytes() -> None:
    async with running_gateway() as here:
        path = "/api/v1/documents?source=kb:a&title=A"
        named = {"source": "kb:a", "title": "A", "media_type": "text/plain"}
        replies = [
            await here.http.post(path, content="é".encode(), headers={"Content-Type": "Text/Plain; charset=utf-8"}),
            await here.http.post("/api/v1/documents", json=named | {"text": "é"}),
            await here.http.post("/api/v1/documents", json=named | {"base64": base64.b64encode("é".encode()).decode()}),
        ]

        submitted = [here.bus.only(reply.json()["id"], DocumentSubmitted).document for reply in replies]
        assert [one.submission for one in submitted] == [reply.json()["id"] for reply in replies]
        documents = [one.model_copy(update={"submission": ""}) for one in submitted]
        assert [reply.status_code for reply in replies] == [202] * 3
        assert documents[0] == documents[1] == documents[2]
        assert documents[0].text == "é"


@pytest.mark.parametrize(
    ("fact", "status"),
    [
        (None, {"status": "submitted"}),
        (
            DocumentIndexed(source="kb:a", digest="d", chunks=2, entities=3, relations=1),
            {"status": "indexed", "chunks": 2, "entities": 3, "relations": 1, "seconds": 0.0, "public": False},
        ),
        (
            DocumentIndexed(source="kb:a", digest="d", chunks=2, unchanged=True),
            {"status": "unchanged", "chunks": 2, "seconds": 0.0, "public": False},
        ),
        (DocumentRefused(source="kb:a", reason="No text."), {"status": "refused", "reason": "No text."}),
    ],
)
async def test_what_became_of_a_document_can_be_asked(
    fact: DocumentIndexed | DocumentRefused | None, status: dict[str, Any]
) -> None:
    async with running_gateway() as here:
        reply = await here.http.post("/api/v1/documents", json={"source": "kb:a", "text": "a"})
        (submitted,) = here.bus.history(reply.json()["id"])
        if fact:
            await here.publish(then(submitted, fact, "retrieval"))

        body = (await here.http.get(reply.json()["links"]["status"])).json()

        assert body == {"id": submitted.correlation_id, **status}


async def test_a_batch_that_is_not_waited_for_is_told_as_submitted() -> None:
    async with running_gateway() as here:
        documents = [{"source": f"kb:{name}", "text": name} for name in "ab"]

        body = (await here.http.post("/api/v1/ingest", json={"documents": documents, "wait": False})).json()

        assert body["counts"] == {"submitted": 2}
        assert [one["source"] for one in body["documents"]] == ["kb:a", "kb:b"]


async def test_removing_names_what_is_gone_and_nothing_to_remove_is_not_found() -> None:
    async with running_gateway() as here:
        joined(here)
        path = "/api/v1/documents"

        assert (await here.http.delete(path, params={"source": ["kb:a", "kb:b"]})).json() == {"removed": ["kb:a"]}
        assert (await here.http.delete(path, params={"source": "kb:b"})).status_code == 404
        assert (await here.http.delete(path)).status_code == 422
        assert (await here.http.delete(path, params={"source": ["x"] * 1001})).status_code == 422


async def test_files_of_a_form_are_documents_named_as_they_are() -> None:
    async with running_gateway() as here:
        files = [
            ("file", ("a/guide.md", b"# Guide", "application/octet-stream")),
            ("file", ("t.csv", b"a,b", "text/csv")),
        ]
        reply = await here.http.post("/api/v1/documents?collection=hall", files=files)

        assert reply.status_code == 202
        assert [receipt["source"] for receipt in reply.json()["documents"]] == ["kb:hall/guide.md", "kb:hall/t.csv"]
        receipts = reply.json()["documents"]
        submitted = [here.bus.only(receipt["id"], DocumentSubmitted).document for receipt in receipts]
        assert [document.media_type for document in submitted] == ["text/markdown", "text/csv"]


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        ("application/octet-stream", "text/markdown"),
        ("application/x-www-form-urlencoded", "text/markdown"),
        ("text/plain; charset=windows-1251", "text/plain; charset=windows-1251"),
        ("", "text/markdown"),
    ],
)
async def test_bytes_have_the_type_that_is_declared_or_named(content_type: str, media_type: str) -> None:
    async with running_gateway() as here:
        headers = {"Content-Type": content_type} if content_type else {}
        reply = await here.http.post("/api/v1/documents?source=kb:a.md", content=b"text", headers=headers)

        assert reply.status_code == 202
        assert here.bus.only(reply.json()["id"], DocumentSubmitted).document.media_type == media_type


async def test_a_form_without_a_file_says_what_to_send() -> None:
    async with running_gateway() as here:
        reply = await here.http.post("/api/v1/documents", data={"a": "b"}, files={})
        empty = await here.http.post("/api/v1/documents", files={"note": (None, b"text")})

        assert reply.status_code == 422
        assert (empty.status_code, "curl -F file=@" in empty.json()["detail"]) == (422, True)
