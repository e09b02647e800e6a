"""Pipelines over HTTP on all stages: documents, their schema, checks, and changes that the next question meets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import pytest_asyncio

from shared.runtime.settings import Settings
from tests.support.judged import GOOD, RENT, Script, platform, result_of, tags
from tests.support.memory_bus import MemoryBus

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEFAULT = "/api/v1/pipelines/default"


@pytest_asyncio.fixture(loop_scope="module")
async def running(tmp_path: Path) -> AsyncIterator[tuple[MemoryBus, httpx.AsyncClient]]:
    settings = Settings(data_dir=tmp_path, port=0, operator_credentials="own")
    async with platform(tmp_path, Script([tags(GOOD)]), settings=settings, gateway={"cache": "off"}) as found:
        yield found


async def document_of(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    reply = await client.get(DEFAULT, params=query)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def test_a_changed_document_answers_the_next_question_until_it_is_rolled_back(
    running: tuple[MemoryBus, httpx.AsyncClient],
) -> None:
    _, client = running
    before = await document_of(client)
    changed = {**before["document"], "moderation": {"short_words": 99}}

    applied = await client.put(DEFAULT, json={"document": changed, "based_on": before["revision"]})
    rejected = await result_of(client)
    again = await client.put(DEFAULT, json={"document": changed})
    differs = await client.get(f"{DEFAULT}/changes", params={"before": before["revision"]})
    back = await client.post(f"{DEFAULT}/rollback", json={"revision": before["revision"]})
    answered = await result_of(client)
    after = await document_of(client)

    assert applied.json() == {"name": "default", "revision": before["revision"] + 1, "changed": True}
    assert (again.json()["changed"], rejected["outcome"]) == (False, "rejected")
    assert differs.json()["changes"] == [{"at": "moderation.short_words", "before": None, "after": 99}]
    assert (back.json()["changed"], answered["outcome"]) == (True, "answered")
    assert after["document"] == before["document"]
    assert list(after["revisions"]) == [before["revision"] + number for number in range(3)]
    assert (await document_of(client, revision=applied.json()["revision"]))["document"] == changed


async def test_everything_that_is_wrong_is_told_with_its_place_and_nothing_is_stored(
    running: tuple[MemoryBus, httpx.AsyncClient],
) -> None:
    _, client = running
    before = await document_of(client)
    wrong = {
        **before["document"],
        "moderation": {"short_words": "many", "shortwords": 1},
        "answer": {"engine": "chat", "temperature": 99},
    }

    checked = (await client.post("/api/v1/pipeline-check", json={"document": wrong})).json()
    refused = await client.put(DEFAULT, json={"document": wrong})

    places = {one["at"] for one in checked["faults"]}
    assert not checked["valid"]
    assert {"moderation.short_words", "moderation.shortwords", "answer.temperature"} <= places
    assert refused.status_code == 422
    assert refused.json()["errors"] == checked["faults"]
    assert (await document_of(client))["revision"] == before["revision"]
    assert (await client.post("/api/v1/pipeline-check", json={"document": before["document"]})).json()["valid"]


@pytest.mark.parametrize(
    ("document", "at", "problem"),
    [
        ({"moderaton": {}}, "moderaton", "did you mean moderation?"),
        ({"profiles": {}}, "profiles", "no such key"),
        ({"moderation": ["a"]}, "moderation", "mapping"),
        ({"tenants": "acme"}, "tenants", "list"),
        ({"endings": {"silent": ["never"]}}, "endings.silent.0", "not_found"),
        ({"endings": {"home_url": {"en": "https://u:p@example.org/"}}}, "endings.home_url.en", "passwords"),
        ({"persistence": {"turns": 9}, "gateway": {"turns": 3}}, "persistence.turns", "gateway.turns"),
        (
            {"gateway": {"routing": {"classes": {"a": {"pipeline": "nowhere", "phrases": ["x"]}}}}},
            "gateway.routing.classes.a.pipeline",
            "nowhere",
        ),
    ],
)
async def test_a_fault_has_the_place_of_its_key(
    running: tuple[MemoryBus, httpx.AsyncClient], document: dict[str, Any], at: str, problem: str
) -> None:
    _, client = running
    told = (await client.post("/api/v1/pipeline-check", json={"document": {"name": "default", **document}})).json()

    assert [one["at"] for one in told["faults"]] == [at], told
    assert problem in told["faults"][0]["problem"]


async def test_the_schema_describes_every_setting_and_fits_the_documents(
    running: tuple[MemoryBus, httpx.AsyncClient],
) -> None:
    _, client = running
    schema = (await client.get("/api/v1/pipeline-schema")).json()
    # A setting that may be written in a shorter form, such as `verifier.judge`, is described in its long one only.
    document = (await document_of(client))["document"] | {"verifier": {"check_urls": False}}

    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(document)
    assert list(validator.iter_errors({**document, "answer": {"engine": 5}}))
    assert list(validator.iter_errors({**document, "anser": {}}))
    assert schema["properties"]["moderation"]["properties"]["short_words"]["description"]
    assert {"gateway", "moderation", "retrieval", "answer", "verifier"} <= set(schema["properties"])


async def test_a_document_that_was_edited_from_an_older_revision_is_refused(
    running: tuple[MemoryBus, httpx.AsyncClient],
) -> None:
    _, client = running
    before = await document_of(client)
    await client.put(DEFAULT, json={"document": {**before["document"], "description": "Somebody else's."}})

    late = await client.put(DEFAULT, json={"document": before["document"], "based_on": before["revision"]})

    assert late.status_code == 409
    assert (await document_of(client))["document"]["description"] == "Somebody else's."


async def test_passwords_in_addresses_of_a_stored_document_are_not_shown(
    running: tuple[MemoryBus, httpx.AsyncClient],
) -> None:
    bus, client = running
    bus.pipelines.apply("default", {"endings": {"home_url": {"en": "https://user:secret-word@example.org/"}}})

    reply = await client.get(DEFAULT)
    changes = await client.get(f"{DEFAULT}/changes", params={"before": 1})

    assert reply.json()["document"]["endings"]["home_url"] == {"en": "https://***@example.org/"}
    assert "secret-word" not in reply.text + changes.text


async def test_what_is_not_there_is_not_found(running: tuple[MemoryBus, httpx.AsyncClient]) -> None:
    _, client = running
    assert (await client.get("/api/v1/pipelines/nobodys")).status_code == 404
    assert (await client.get(DEFAULT, params={"revision": 99})).status_code == 404
    assert (await client.post(f"{DEFAULT}/rollback", json={"revision": 99})).status_code == 404
    other = await client.put(DEFAULT, json={"document": {"name": "other"}})
    assert (other.status_code, other.json()["errors"][0]["at"]) == (422, "name")
    made = await client.put("/api/v1/pipelines/new", json={"document": {"description": "New."}})
    assert made.json()["changed"]
    assert (await result_of(client, RENT, pipeline="new"))["outcome"] == "answered"


async def test_without_an_operators_rights_pipelines_are_read_and_checked_but_not_changed(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=0)
    async with platform(tmp_path, Script([tags(GOOD)]), settings=settings) as (_, client):
        document = (await document_of(client))["document"]
        checked = await client.post("/api/v1/pipeline-check", json={"document": document})
        applied = await client.put(DEFAULT, json={"document": document})
        back = await client.post(f"{DEFAULT}/rollback", json={"revision": 1})

    assert checked.json()["valid"]
    assert (applied.status_code, back.status_code) == (501, 501)
    assert applied.json()["setting"] == "ANSWERBUS_OPERATOR_CREDENTIALS"


async def test_an_operator_of_one_tenant_sees_no_pipeline_of_another_and_changes_none(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        port=0,
        tenants="acme",  # type: ignore[arg-type]
        api_keys="one:operator:one-key-0123456789",  # type: ignore[arg-type]
        operator_credentials="own",
    )
    async with platform(tmp_path, Script([tags(GOOD)]), settings=settings) as (bus, client):
        bus.pipelines.apply("theirs", {"tenants": ["acme"], "description": "Secret plans."})
        client.headers["Authorization"] = "Bearer one-key-0123456789"
        theirs = await client.get("/api/v1/pipelines/theirs")
        own = await client.get(DEFAULT)
        applied = await client.put(DEFAULT, json={"document": own.json()["document"]})

    assert (theirs.status_code, own.status_code, applied.status_code) == (404, 200, 403)
    assert "Secret" not in theirs.text
