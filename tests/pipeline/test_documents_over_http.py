"""Documents in collections, through the real stages and over HTTP: kept apart, listed, shown, searched, removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.test_reused_answers import RENT, Town, town, until

HOURS = "When does the harbour office open?"
OPEN = {"en": "The harbour office opens at eight.", "old": "The harbour office opens at noon."}


async def _ingest(here: Town, *documents: dict[str, Any]) -> dict[str, Any]:
    reply = await here.http.post("/api/v1/ingest", json={"documents": list(documents)})
    assert reply.status_code == 200, reply.text
    told: dict[str, Any] = reply.json()
    return told


async def _indexed(here: Town, submission: str) -> None:
    await until(lambda: "DocumentIndexed" in here.bus.names(submission))


async def _harbours(here: Town) -> None:
    for collection, text in OPEN.items():
        document = {"source": "kb:harbour.md", "title": "Harbour", "collection": collection, "text": text}
        assert (await _ingest(here, document))["counts"] == {"indexed": 1}


async def _sources(here: Town, **parameters: str) -> list[str]:
    reply = (await here.http.get("/api/v1/documents", params=parameters)).json()
    return [one["source"] for one in reply["documents"]]


async def test_equal_names_in_two_collections_are_two_documents(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await _harbours(here)

        assert await _sources(here) == ["kb:en/harbour.md", "kb:garden.md", "kb:old/harbour.md"]
        for collection, text in OPEN.items():
            parameters = {"source": f"kb:{collection}/harbour.md"}
            shown = (await here.http.get("/api/v1/documents/passages", params=parameters)).json()
            assert [one["text"] for one in shown["passages"]] == [text]
            assert (shown["document"]["collection"], shown["document"]["title"]) == (collection, "Harbour")


async def test_raw_bytes_go_into_a_collection_too(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        for collection in ("a", "b"):
            path = f"/api/v1/documents?source=kb:x.txt&collection={collection}"
            reply = await here.http.post(path, content=b"text", headers={"Content-Type": "text/plain"})
            assert reply.json()["source"] == f"kb:{collection}/x.txt"
            await _indexed(here, reply.json()["id"])


async def test_id_of_another_collection_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await _harbours(here)

        told = await _ingest(here, {"source": "kb:en/harbour.md", "text": "Other."})

        (refused,) = told["documents"]
        assert refused["status"] == "refused"
        assert "kb:en/harbour.md is already indexed in the collection 'en'" in refused["reason"]


async def test_two_documents_of_one_request_with_one_id_are_refused_and_both_named(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        same = [{"source": "kb:a.md", "text": text} for text in ("one", "two")]
        reply = await here.http.post("/api/v1/ingest", json={"documents": same})

        assert reply.status_code == 422
        assert "documents[0] and documents[1] have the same id kb:a.md" in reply.json()["detail"]
        assert await _sources(here) == ["kb:garden.md"]


@pytest.mark.parametrize("sections", [None, {"retrieval": {"strategy": "index"}}])
async def test_question_limited_to_a_collection_is_answered_from_it_alone(
    tmp_path: Path, sections: dict[str, Any] | None
) -> None:
    async with town(tmp_path, sections) as here:
        await _harbours(here)

        for collection, hour, other in (("en", "eight", "noon"), ("old", "noon", "eight")):
            for _ in range(2):  # the second time from the cache, which knows the collections
                told = await here.ask(HOURS, language="en", collections=[collection])
                assert hour in told["result"]["answer"]["content"]
                assert other not in told["result"]["answer"]["content"]
                assert {one["source"] for one in told["result"]["citations"]} == {f"kb:{collection}/harbour.md"}
        assert told["result"]["outcome"] == "reused"
        assert (await here.ask(RENT, language="en", collections=["en"]))["result"]["answer"]["type"] == "not_found"


async def test_question_in_other_words_reuses_no_answer_of_another_collection(tmp_path: Path) -> None:
    async with town(tmp_path, {"retrieval": {"semantic_cache": {"mode": "on"}}}) as here:
        await _harbours(here)
        await here.ask("What time does the harbour office open?", language="en", collections=["en"])

        told = await here.ask("Please tell me what time the harbour office opens", language="en", collections=["old"])

        assert "eight" not in told["result"]["answer"]["content"]


async def test_question_cannot_reach_a_collection_that_its_pipeline_has_not(tmp_path: Path) -> None:
    async with town(tmp_path, {"retrieval": {"collections": ["en"]}}) as here:
        await _harbours(here)

        told = await here.ask(HOURS, language="en", collections=["old"])
        assert (told["result"]["answer"]["type"], told["result"]["citations"]) == ("not_found", [])
        told = await here.ask(HOURS, language="en", collections=["old", "en"])
        assert {one["source"] for one in told["result"]["citations"]} == {"kb:en/harbour.md"}


async def test_document_that_was_removed_is_gone_and_one_that_is_unknown_is_told(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await _harbours(here)

        removed = await here.http.delete("/api/v1/documents", params={"source": ["kb:en/harbour.md", "kb:none"]})

        assert removed.json() == {"removed": ["kb:en/harbour.md"]}
        gone = await here.http.get("/api/v1/documents/passages", params={"source": "kb:en/harbour.md"})
        assert (gone.status_code, "GET /api/v1/documents" in gone.json()["detail"]) == (404, True)


async def test_long_document_is_shown_page_by_page(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        text = "\n\n".join(f"# Part {number}\n\nSentence {number} is here." for number in range(7))
        await _ingest(here, {"source": "kb:long.md", "media_type": "text/markdown", "text": text})

        titles: list[str] = []
        after = 0
        while True:
            parameters = {"source": "kb:long.md", "limit": "3", "after": str(after)}
            page = (await here.http.get("/api/v1/documents/passages", params=parameters)).json()
            titles += [one["title"] for one in page["passages"]]
            after = page["after"]
            if not after:
                break
        assert len(titles) == page["document"]["chunks"] == 7


async def test_statistics_tell_the_index_and_embedding_needs_a_model(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        index = (await here.http.get("/api/v1/stats")).json()["index"]
        assert (index["documents"], index["embedded"], index["warning"]) == (1, 0, "")

        reply = await here.http.post("/api/v1/documents/embed", json={"sources": ["kb:garden.md"]})
        assert "no embeddings model is configured" in reply.json()["detail"]


async def test_list_of_documents_is_narrowed_by_every_filter_and_counts_what_there_is(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await _harbours(here)
        await _ingest(
            here,
            {"source": "kb:pay.md", "title": "Wages", "text": "The pay is good.", "groups": ["staff"]},
            {"source": "kb:port.txt", "language": "fr", "text": "Le port ouvre à huit heures tous les jours."},
        )
        new = (await here.http.get("/api/v1/documents", params={"text": "PORT"})).json()["documents"][0]["indexed_at"]

        assert await _sources(here, text="HARBOUR", collection="en") == ["kb:en/harbour.md"]
        assert await _sources(here, text="wage") == ["kb:pay.md"]
        assert await _sources(here, language="fr") == await _sources(here, language="fra") == ["kb:port.txt"]
        assert await _sources(here, group="staff") == ["kb:pay.md"]
        assert "kb:port.txt" in await _sources(here, indexed_since=new)
        assert await _sources(here, indexed_since="2999-01-01T00:00:00") == []
        assert (await here.http.get("/api/v1/documents", params={"color": "red"})).status_code == 422

        page = (
            await here.http.get("/api/v1/documents", params={"facets": "true", "text": "harbour", "limit": 1})
        ).json()
        assert (page["total"], page["after"]) == (2, "kb:en/harbour.md")
        assert page["facets"]["collections"] == {"": 3, "en": 1, "old": 1}
        assert page["facets"]["groups"] == {"staff": 1}
        assert page["facets"]["languages"]["fra"] == 1
        assert "facets" not in (await here.http.get("/api/v1/documents")).json()


async def test_formats_that_can_be_submitted_are_told_with_the_endings_of_their_files(tmp_path: Path) -> None:
    async with town(tmp_path, max_document_bytes=2000) as here:
        told = (await here.http.get("/api/v1/documents/formats")).json()

        types = {one["media_type"]: one["endings"] for one in told["formats"]}
        assert told["max_bytes"] == 2000
        assert types["application/pdf"] == [".pdf"]
        assert ".md" in types["text/markdown"]
        assert any(".docx" in endings for endings in types.values())
        assert any(".jsonl" in endings for endings in types.values())  # as one document; a command reads its lines


async def test_file_of_a_wrong_type_or_size_is_refused_at_once_with_what_to_send(tmp_path: Path) -> None:
    async with town(tmp_path, max_document_bytes=2000) as here:
        path = "/api/v1/documents?source=kb:x"
        picture = await here.http.post(path, content=b"\x89PNG", headers={"Content-Type": "image/png"})
        large = await here.http.post(path, content=b"a" * 2001, headers={"Content-Type": "text/plain"})

        assert (picture.status_code, large.status_code) == (415, 413)
        assert "unsupported media type image/png" in picture.json()["detail"]
        assert "application/pdf" in picture.json()["detail"]
        assert "at most 2000 bytes" in large.json()["detail"]
        assert await _sources(here) == ["kb:garden.md"]


async def test_tables_with_huge_rows_give_small_passages_and_small_replies(tmp_path: Path) -> None:
    # Given three documents of 2.4 MB, each a table of rows of 240 KB
    row = "| parking permit " * 15_000
    table = "| a | b |\n|---|---|\n" + f"{row}|\n" * 10
    documents = [
        {"source": f"kb:{number}.md", "media_type": "text/markdown", "text": f"# Table {number}\n\n{table}"}
        for number in range(3)
    ]
    async with town(tmp_path, max_document_bytes=10_000_000) as here:
        for document in documents:
            assert (await _ingest(here, document))["counts"] == {"indexed": 1}

        reply = await here.http.post("/api/v1/search", json={"query": "parking permit", "limit": 50})

        assert reply.status_code == 200, reply.text[:500]
        assert len(reply.content) < 500_000
        assert reply.json()["passages"]
