"""Clients of AG-UI over the real stages: runs, threads, repetition, resuming; the official client where it is."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from shared.contracts.facts import QuestionAsked
from tests.support.ag_ui import read_run
from tests.support.faces import KEYS, Faces, running_faces

pytestmark = pytest.mark.asyncio(loop_scope="module")

RENT = "What is the rent of a garden plot?"
CARD = "How long does it take to replace a lost library card?"
SCRIPT = Path(__file__).with_name("ag_ui_client.js")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faces(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faces]:
    async with running_faces(tmp_path_factory.mktemp("ag_ui")) as running:
        yield running


def said(text: str, *earlier: dict[str, Any], thread: str, run: str = "run-1", **more: Any) -> dict[str, Any]:
    messages = [*earlier, {"id": f"m{len(earlier)}", "role": "user", "content": text}]
    common = {"tools": [], "context": [], "forwardedProps": {}, "state": {}}
    return {"threadId": thread, "runId": run, "messages": messages, **common, **more}


async def test_run_has_the_text_the_citations_and_the_question_of_the_native_answer(faces: Faces) -> None:
    events = await faces.ag_ui(said(RENT, thread="t-native"))
    client = read_run(event for _, event in events)

    async with faces.http() as http:
        native = (await http.get(f"/api/v1/questions/{client.state['answerbus']['question']}")).json()
    assert "forty euros" in client.text
    assert client.text == native["result"]["answer"]["content"]
    assert [one["source"] for one in client.customs["citation"]] == [
        one["source"] for one in native["result"]["citations"]
    ]
    assert (client.ending["type"], client.ending["runId"]) == ("RUN_FINISHED", "run-1")
    assert all(identity for identity, _ in events[1:])


async def test_repeated_run_of_a_thread_follows_the_same_question(faces: Faces) -> None:
    first, second, other = await asyncio.gather(
        faces.ag_ui(said(f"{RENT} Please.", thread="t-repeat")),
        faces.ag_ui(said(f"{RENT} Please.", thread="t-repeat")),
        faces.ag_ui(said(f"{RENT} Please.", thread="t-repeat-2")),
    )
    ids = [read_run(event for _, event in events).state["answerbus"]["question"] for events in (first, second, other)]

    assert ids[0] == ids[1] != ids[2]


async def test_run_of_another_key_is_another_question(faces: Faces) -> None:
    mine = read_run(event for _, event in await faces.ag_ui(said(RENT, thread="t-mine")))
    theirs = read_run(event for _, event in await faces.ag_ui(said(RENT, thread="t-mine"), "other"))

    assert mine.state["answerbus"]["question"] != theirs.state["answerbus"]["question"]


async def test_stream_goes_on_after_the_last_event_id(faces: Faces) -> None:
    body = said(f"{RENT} Tell me.", thread="t-resume")
    events = await faces.ag_ui(body)
    whole = read_run(event for _, event in events)

    for at in range(2, len(events), 3):
        rest = await faces.ag_ui(body, last_event_id=events[at - 1][0])
        client = read_run([event for _, event in events[:at]] + [event for _, event in rest])
        assert (client.text, client.state, client.ending) == (whole.text, whole.state, whole.ending)


async def test_thread_is_remembered_and_the_messages_of_the_client_are_ignored(faces: Faces) -> None:
    await faces.ag_ui(said(RENT, thread="t-talk"))
    earlier = (
        {"id": "a", "role": "user", "content": "Another one."},
        {"id": "b", "role": "assistant", "content": "No."},
    )
    client = read_run(event for _, event in await faces.ag_ui(said(CARD, *earlier, thread="t-talk", run="run-2")))

    asked = faces.bus.only(client.state["answerbus"]["question"], QuestionAsked)
    assert [turn.question for turn in asked.turns] == [RENT]


async def test_messages_of_a_thread_that_is_not_known_are_moderated_turns(faces: Faces) -> None:
    earlier = (
        {"id": "a", "role": "user", "content": "My mail is zoe@example.com. What is the rent of a garden plot?"},
        {"id": "b", "role": "assistant", "content": "Forty euros."},
    )
    client = read_run(event for _, event in await faces.ag_ui(said(CARD, *earlier, thread="t-new")))

    [turn] = faces.bus.only(client.state["answerbus"]["question"], QuestionAsked).turns
    assert turn.answer == "Forty euros."
    assert "zoe@example.com" not in turn.question


async def test_answer_to_an_interrupt_is_asked_in_the_thread(faces: Faces) -> None:
    resume = [{"interruptId": "0" * 32, "status": "resolved", "payload": {"answer": CARD}}]
    client = read_run(event for _, event in await faces.ag_ui(said(RENT, thread="t-interrupt", resume=resume)))

    assert faces.bus.only(client.state["answerbus"]["question"], QuestionAsked).text == CARD
    cancelled = [{"interruptId": "0" * 32, "status": "cancelled"}]
    body = {"threadId": "t-interrupt", "runId": "run-3", "messages": [], "resume": cancelled}
    ended = read_run(event for _, event in await faces.ag_ui(body))
    assert ended.ending["outcome"] == {"type": "cancelled"}


async def test_thread_of_any_name_is_a_conversation(faces: Faces) -> None:
    name = "a thread / ü " * 20
    client = read_run(event for _, event in await faces.ag_ui(said(RENT, thread=name)))

    assert client.ending["threadId"] == name
    assert client.state["answerbus"]["conversation_id"].startswith("thread-")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"threadId": "t", "runId": "r", "messages": []}, 422),
        ({"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": " "}]}, 422),
        ({"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "a\x00b"}]}, 422),
        (said(RENT, thread="t", forwardedProps={"pipeline": "nobody"}), 422),
        (said(RENT, thread="t", forwardedProps={"user": 5}), 422),
    ],
)
async def test_what_cannot_be_asked_is_a_problem_before_the_stream(
    faces: Faces, body: dict[str, Any], status: int
) -> None:
    async with faces.http() as http:
        reply = await http.post("/api/v1/ag-ui", json=body)
        bad_id = await http.post("/api/v1/ag-ui", json=said(RENT, thread="t"), headers={"Last-Event-ID": "1"})

    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert bad_id.status_code == 400


def _has_client() -> bool:
    """Whether Node can load `@ag-ui/client`, for example with NODE_PATH."""
    if shutil.which("node") is None:
        return False
    found = subprocess.run(["node", "-e", "require.resolve('@ag-ui/client')"], check=False, capture_output=True)
    return found.returncode == 0


@pytest.mark.skipif(not _has_client(), reason="Node cannot load @ag-ui/client; install it and set NODE_PATH")
async def test_official_client_in_node_shows_the_same_text_and_state(faces: Faces) -> None:
    environment = os.environ | {"URL": f"{faces.url}/api/v1/ag-ui", "KEY": KEYS["web"][1], "QUESTION": RENT}
    done = await asyncio.to_thread(
        subprocess.run, ["node", str(SCRIPT)], check=False, capture_output=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()

    told = json.loads(done.stdout.decode().strip().splitlines()[-1])
    assert "forty euros" in told["text"]
    assert told["state"]["answerbus"]["status"] == "COMPLETE"
    assert told["roles"] == ["user", "assistant", "user", "assistant"]
    assert told["customs"][:1] == ["citation"]
