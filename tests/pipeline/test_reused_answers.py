"""The same question again, through the real stages: what is given again, and what takes it back."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.host.catalogue import STAGES, builder
from services.gateway.server.http_server import HttpServer
from shared.contracts.answer_cache import DISPUTED
from shared.contracts.domain import Document
from shared.contracts.envelope import opening
from shared.contracts.facts import DocumentSubmitted, QuestionAsked
from shared.contracts.subjects import ANSWERS_BUCKET
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.speed import limit

RENT = "What is the rent of a garden plot?"
GARDEN = "# Community garden\n\nThe rent of a garden plot is {} euros. Plots in the garden are rented for one year.\n"


class Town:
    """The stages with one document, and a client of their HTTP face."""

    def __init__(self, bus: MemoryBus, http: httpx.AsyncClient) -> None:
        self.bus = bus
        self.http = http

    def recorded(self, question: str) -> str:
        """The outcome of the question on record; empty while it has none."""
        with contextlib.closing(sqlite3.connect(self.bus.settings.data_dir / "record" / "record.db")) as record:
            rows = record.execute("SELECT outcome FROM exchanges WHERE id = ?", (question,)).fetchall()
        return rows[0][0] if rows else ""

    async def write(self, euros: str) -> None:
        pipeline = self.bus.pipelines.current("default")
        assert pipeline
        document = Document(source="kb:garden.md", media_type="text/markdown", text=GARDEN.format(euros))
        submitted = opening("gateway", DocumentSubmitted(document=document), pipeline=pipeline, deadline_seconds=60)
        await self.bus.log.publish(submitted)
        await until(lambda: "DocumentIndexed" in self.bus.names(submitted.correlation_id))

    async def ask(self, text: str = RENT, **fields: Any) -> dict[str, Any]:
        reply = await self.http.post("/api/v1/query", json={"question": text, **fields})
        assert reply.status_code == 200, reply.text
        body: dict[str, Any] = reply.json()
        await until(lambda: self.bus.idle)
        return body


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Return when it holds.

    Raises:
        TimeoutError: it does not.
    """
    deadline = time.monotonic() + limit(seconds)
    for pause in itertools.repeat(0.005):
        if condition():
            return
        if time.monotonic() > deadline:
            raise TimeoutError
        await asyncio.sleep(pause)


@contextlib.asynccontextmanager
async def town(root: Path, sections: dict[str, Any] | None = None, **settings: Any) -> AsyncIterator[Town]:
    bus = MemoryBus(*map(builder, STAGES), settings=Settings(data_dir=root, port=0, **settings), sections=sections)
    async with bus:
        (face,) = (port for stage in bus.stages for port in stage.ports if isinstance(port, HttpServer))
        serving = asyncio.create_task(bus.serve())
        address = f"http://127.0.0.1:{face.port}"
        async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=60) as http:
            here = Town(bus, http)
            await here.write("forty")
            yield here
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def test_the_same_question_again_is_one_fact_with_the_verified_answer_and_its_origin(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        first = await here.ask()
        again = await here.ask("what is the rent of a garden  plot")

        assert first["result"]["outcome"] == "answered"
        assert again["result"]["outcome"] == "reused"
        assert again["result"]["reused"] == {"origin": first["id"], "similarity": 1.0}
        for name in ("answer", "citations", "engine", "confidence"):
            assert again["result"][name] == first["result"][name], name
        assert here.bus.names(again["id"]) == ["AnswerReused"]
        await until(lambda: here.recorded(again["id"]) == "reused")


async def test_a_repeat_can_be_posted_polled_and_watched(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await here.ask()

        posted = (await here.http.post("/api/v1/questions", json={"question": RENT})).json()
        polled = (await here.http.get(posted["links"]["self"])).json()
        lines = (await here.http.get(posted["links"]["events"], headers={"Accept": "application/x-ndjson"})).text

        assert posted["status"] == polled["status"] == "COMPLETE"
        assert polled["result"]["outcome"] == "reused"
        assert [line.split('"event":"')[1].split('"')[0] for line in lines.strip().splitlines()][-2:] == [
            "status",
            "result",
        ]


async def test_a_request_is_answered_alike_whether_the_route_or_fastapi_reads_it(tmp_path: Path) -> None:
    requests: list[tuple[bytes, dict[str, str], int]] = [
        (b'{"question": "%s"}' % RENT.encode(), {}, 200),
        (b'{"question": "%s", "language": "en", "turns": []}' % RENT.encode(), {"Idempotency-Key": "k-1"}, 200),
        (b'{"question": "%s"}' % RENT.encode(), {"Idempotency-Key": "k" * 256}, 422),
        (b'{"question": "%s", "top_k": 3}' % RENT.encode(), {}, 422),  # the pipeline does not allow it
        (b'{"question": "%s", "other": 1}' % RENT.encode(), {}, 422),
        (b'{"question": " "}', {}, 422),
        (b'["%s"]' % RENT.encode(), {}, 422),
        (b'{"question": ', {}, 422),
        (b"", {}, 422),
    ]
    # FastAPI reads the last one: to the route it is out of the ordinary.
    media_types = ("application/json", "Application/JSON; charset=utf-8", "application/vnd.town+json")
    async with town(tmp_path) as here:
        await here.ask()
        for body, headers, status in requests:
            told = []
            for media_type in media_types:
                sent = {**headers, "Content-Type": media_type}
                reply = await here.http.post("/api/v1/query", content=body, headers=sent)
                assert reply.status_code == status, reply.text
                told.append(reply.json().get("result") or reply.json())
            assert told[0] == told[1] == told[2]


async def test_a_repeated_request_under_one_key_is_one_question_also_when_its_answer_was_known(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await here.ask()
        headers = {"Idempotency-Key": "k-1"}

        ids = {
            (await here.http.post("/api/v1/query", json={"question": RENT}, headers=headers)).json()["id"]
            for _ in range(3)
        }
        other = await here.http.post("/api/v1/query", json={"question": "Who?"}, headers=headers)

        assert len(ids) == 1
        assert other.status_code == 422


async def test_a_repeat_is_answered_while_new_questions_are_refused_for_the_backlog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.gateway.limits.admission.INTERVAL", 0.01)
    async with town(tmp_path) as here:
        await here.ask()
        here.bus.backlog_seconds = 60.0

        for number in itertools.count():
            reply = await here.http.post("/api/v1/query", json={"question": f"Who waters garden plot {number}?"})
            if reply.status_code == 429:
                break

        assert (await here.ask())["result"]["outcome"] == "reused"


async def test_a_changed_document_takes_the_answer_back_at_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await here.ask()

        await here.write("fifty")
        asked = await here.ask()

        assert asked["result"]["outcome"] == "answered"
        assert "fifty" in asked["result"]["answer"]["content"]


@pytest.mark.parametrize("rated", ["first", "again"])
async def test_a_thumb_down_takes_the_answer_back_wherever_it_is_given(tmp_path: Path, rated: str) -> None:
    async with town(tmp_path) as here:
        asked = {"first": await here.ask(), "again": await here.ask()}

        await here.http.post(asked[rated]["links"]["feedback"], json={"rating": "down"})
        kept = here.bus.key_value(ANSWERS_BUCKET)
        await until(lambda: any(value.endswith(DISPUTED) for value, _ in kept._values.values()))

        assert [(await here.ask())["result"]["outcome"] for _ in range(2)] == ["answered", "answered"]


async def test_an_erased_answer_is_not_given_again_from_the_memory_of_the_gateway(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        first = await here.ask()
        assert (await here.ask())["result"]["outcome"] == "reused"

        erased = await here.http.delete(f"/api/v1/exchanges/{first['id']}")

        assert erased.status_code == 200, erased.text
        assert (await here.ask())["result"]["outcome"] == "answered"


async def test_other_turns_and_other_pipelines_get_their_own_answer(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await here.ask(conversation_id="c-1")

        followed_up = await here.ask(conversation_id="c-1")
        here.bus.pipelines.apply("default", {"gateway": {"turns": 4}})
        revised = await here.ask()

        assert followed_up["result"]["outcome"] == revised["result"]["outcome"] == "answered"


async def test_a_follow_up_of_a_repeat_knows_what_it_follows(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await here.ask()
        again = await here.ask()

        followed = await here.ask("For how long are they rented?", conversation_id=again["conversation_id"])

        asked = here.bus.only(followed["id"], QuestionAsked)
        assert [turn.question for turn in asked.turns] == [RENT]


async def test_what_is_not_an_answer_or_has_private_data_is_never_given_again(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        for text in ("What is the rent of a garden plot? I am ann@example.org", "What is the capital of Peru?"):
            outcomes = [(await here.ask(text))["result"]["outcome"] for _ in range(2)]
            assert "reused" not in outcomes


async def test_without_the_store_or_when_it_is_off_every_question_is_answered_anew(tmp_path: Path) -> None:
    async with town(tmp_path / "away") as here:
        await here.ask()
        here.bus.key_value(ANSWERS_BUCKET).unavailable = True
        assert (await here.ask())["result"]["outcome"] == "answered"

    async with town(tmp_path / "off", {"gateway": {"cache": False}}) as here:
        assert [(await here.ask())["result"]["outcome"] for _ in range(2)] == ["answered", "answered"]
