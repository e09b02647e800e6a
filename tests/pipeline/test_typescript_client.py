"""The TypeScript client and `EventSource` in Node against the real stages, over connections that are cut."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.cutting_proxy import cutting_proxy, growing
from tests.support.faces import KEYS, Faces, running_faces
from tests.support.typescript import ROOT, SOURCE, Package, build

pytestmark = pytest.mark.asyncio(loop_scope="module")

RENT = "What is the rent of a garden plot?"
OPENAPI = ROOT / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return build(tmp_path_factory.mktemp("typescript"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faces(package: Package, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faces]:
    """After the package: where that cannot be built, nothing is started."""
    async with running_faces(tmp_path_factory.mktemp("faces"), cache="off") as running:
        yield running


def draft_of(events: list[tuple[str, dict[str, Any]]]) -> str:
    text = ""
    for name, data in events:
        if name == "token":
            assert data["offset"] == len(text)
            text += data["text"]
        elif name == "reset":
            text = ""
    return text


async def check_whole(faces: Faces, question_id: str, got: list[tuple[str, dict[str, Any]]], user: str = "") -> None:
    """What a client got over all its connections is what an uncut one gets: each event once, in order."""
    expected = []
    url = f"/api/v1/questions/{question_id}/events"
    async with faces.http() as http, http.stream("GET", url, params={"user": user}) as reply:
        kind = ""
        async for line in reply.aiter_lines():
            name, _, value = line.partition(": ")
            kind = value if name == "event" else kind
            if name == "data":
                expected.append((kind, json.loads(value)))
    assert [one for one in got if one[0] != "token"] == [one for one in expected if one[0] != "token"]
    assert got[-1][0] == "result"
    assert draft_of(got) == draft_of(expected) == got[-1][1]["result"]["answer"]["content"]


async def test_types_are_those_of_the_openapi_document(package: Package) -> None:
    """When this fails: `make docs`, then `npm run generate` in clients/typescript."""
    command = json.loads((SOURCE / "package.json").read_text("utf-8"))["scripts"]["generate"]
    (package.folder / "generated").mkdir()
    command = command.replace("../../docs/openapi.json", str(OPENAPI)).replace("src/schema.ts", "generated/schema.ts")
    done = package.run("npx", *command.split())

    assert done.returncode == 0, done.stderr
    assert (package.folder / "generated" / "schema.ts").read_text("utf-8") == (SOURCE / "src" / "schema.ts").read_text(
        "utf-8"
    )


async def test_cut_stream_has_every_event_once_and_the_other_calls_work(package: Package, faces: Faces) -> None:
    async with cutting_proxy(faces.url, "/events") as proxy:
        got = await package.node(
            "client.mjs", URL=proxy.url, DIRECT=faces.url, KEY=KEYS["web"][1], EDITOR=KEYS["ed"][1], QUESTION=RENT
        )

    assert proxy.cut >= 3
    parts = {"notice": "notice", "citation": "citation", "result": "question"}

    def native(event: dict[str, Any]) -> tuple[str, Any]:
        name = event["type"]
        if name in parts:
            return name, event[parts[name]]
        return name, {key: value for key, value in event.items() if key != "type"}

    await check_whole(faces, got["id"], [native(event) for event in got["events"]], user="zoe")
    assert draft_of([native(event) for event in got["again"]]) == got["texts"][-1]
    assert got["question"] == got["state"]
    assert "forty euros" in got["texts"][-1]
    assert (got["withdrawn"], got["ingested"], got["first"]) == ("COMPLETE", {"indexed": 1}, "kb:sauna.md")
    assert "/events?ticket=" in got["ticket"]
    wrong, foreign, blank, forbidden, away, stopped = got["errors"]
    assert (wrong[0], foreign[0], blank[0], forbidden[0]) == (401, 404, 422, 403)
    assert "must not be blank" in blank[1]
    assert away.startswith("ConnectionFailedError")
    assert stopped == "Error: the page was closed"


async def test_event_source_with_a_ticket_loses_nothing_over_cut_connections_and_stops_at_the_end(
    package: Package, faces: Faces
) -> None:
    """It sends no key, reconnects by itself to the same address, and never closes: the server ends it with 204."""
    async with cutting_proxy(faces.url, "/events", growing(250, 2.0)) as proxy:
        async with faces.http() as http:
            question_id = (await http.post("/api/v1/questions", json={"question": RENT})).json()["id"]
            ticket = (await http.post(f"/api/v1/questions/{question_id}/stream-ticket")).json()["events"]
        got = await package.node("event_source.mjs", URL=f"{proxy.url}{ticket}")

    assert proxy.cut >= 3
    assert got["code"] == 204
    await check_whole(faces, question_id, [(one["name"], one["data"]) for one in got["events"]])
    assert not any("authorization" in head.lower() for head in proxy.heads)
    async with faces.http() as http:
        http.headers.pop("authorization")
        assert (await http.get(ticket)).status_code == 401
