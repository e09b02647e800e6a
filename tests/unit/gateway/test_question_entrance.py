"""The short way of ordinary questions and FastAPI's way give the same bytes."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from services.gateway import body_limit
from services.gateway.application import GatewayApplication, application
from services.gateway.protected_route import LARGE
from services.gateway.state import Gateway, gateway_of
from shared.bus.ports import StoredEvent
from shared.contracts.answer_cache import KeptAnswer, generation_key, place_of, reuse_key, written
from shared.contracts.domain import Answer, PipelineRef, Question
from shared.contracts.envelope import following
from shared.contracts.errors import UnavailableError
from shared.contracts.subjects import ANSWERS_BUCKET
from shared.runtime.settings import Settings
from shared.runtime.testing import MemoryBus
from tests.unit.gateway.harness import CITATIONS, FOLLOWUPS, QUESTION, verified

KEPT = "When is the pool open?"
CLIENT, OPERATOR, EXPIRED = (letter * 40 for letter in "koe")
KEYS = f"web:client:{CLIENT},ops:operator:{OPERATOR},old:client:{EXPIRED}@2020-01-01"
WITH_KEYS: dict[str, Any] = {"api_keys": KEYS}
TENANTS = {**WITH_KEYS, "tenant": "town", "tenants": "acme,beta", "key_tenants": "web:acme,web:beta,ops:*"}
#: What differs from question to question: its id, and the sequences of its events.
_ID = re.compile(rb'[0-9a-f]{32}|(?<=id: )\d+|(?<="id":")\d+')
#: The last status of each case that was tried.
STATUSES: dict[str, int] = {}


@dataclass(frozen=True)
class Ask:
    """A request; `body` is sent in these parts. `direct`: it takes the short way to its end."""

    body: dict[str, Any] | bytes | list[bytes]
    path: str = "/api/v1/query"
    headers: dict[str, str] = field(default_factory=dict)
    more_headers: tuple[tuple[bytes, bytes], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    times: int = 1
    direct: bool = True
    backlog: bool = False
    unavailable: bool = False

    @property
    def parts(self) -> Sequence[bytes]:
        if isinstance(self.body, list):
            return self.body
        return [self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)]

    def scope(self) -> dict[str, Any]:
        length = str(sum(map(len, self.parts)))
        given = {"host": "localhost", "content-type": "application/json", "content-length": length, **self.headers}
        headers = [(name.encode(), value.encode()) for name, value in given.items() if value]
        return {
            "type": "http",
            "method": "POST",
            "path": self.path.partition("?")[0],
            "raw_path": self.path.encode(),
            "query_string": self.path.partition("?")[2].encode(),
            "headers": [*headers, *self.more_headers],
            "scheme": "http",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            "http_version": "1.1",
        }


def bearer(key: str, **headers: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", **headers}


QUESTION_IN = {"question": QUESTION.text}
LONG = {"question": "Why? " * 200}
SSE, NDJSON = {"accept": "text/event-stream"}, {"accept": "application/x-ndjson"}
GZIP = {"accept-encoding": "gzip, br"}
QUOTAS: dict[str, Any] = {**WITH_KEYS, "rate_key_per_minute": 2, "rate_user_in_flight": 3}
EXACT = {"gateway": {"cache": "exact"}}
CASES = {
    "new": Ask(QUESTION_IN),
    "asked": Ask(QUESTION_IN, "/api/v1/questions"),
    "asked with a query string": Ask(QUESTION_IN, "/api/v1/questions?from=1&x=2"),
    "kept": Ask({"question": KEPT}),
    "kept, often": Ask({"question": KEPT}, times=3),
    "kept, of an operator": Ask({"question": KEPT}, headers=bearer(OPERATOR), settings=WITH_KEYS),
    "kept, of a client": Ask({"question": KEPT}, headers=bearer(CLIENT), settings=WITH_KEYS),
    "kept, of both": Ask({"question": KEPT, "language": "en-GB"}, headers={"x-api-key": CLIENT}, settings=WITH_KEYS),
    "kept, asked only": Ask({"question": KEPT}, "/api/v1/questions"),
    "kept, compressed": Ask({"question": KEPT}, headers=GZIP),
    "asked, compressed": Ask(QUESTION_IN, "/api/v1/questions", headers=GZIP),
    "kept, streamed": Ask({"question": KEPT}, headers=SSE),
    "kept, streamed or JSON": Ask({"question": KEPT}, headers={"accept": "application/json, text/event-stream"}),
    "streamed": Ask(QUESTION_IN, headers=SSE),
    "streamed and compressed": Ask(QUESTION_IN, headers=SSE | GZIP),
    "streamed lines": Ask(QUESTION_IN, headers=NDJSON | GZIP),
    "resumed at a strange place": Ask(QUESTION_IN, headers=SSE | {"last-event-id": "no id"}),
    "resumed by the query string": Ask(QUESTION_IN, "/api/v1/query?from=nowhere", headers=SSE),
    "no answer in time": Ask({"question": "unanswered"}, sections={"gateway": {"deadline_seconds": 0.1}}),
    "no key": Ask(QUESTION_IN, settings=WITH_KEYS),
    "a strange key": Ask(QUESTION_IN, headers=bearer("nobody"), settings=WITH_KEYS),
    "an expired key": Ask(QUESTION_IN, headers=bearer(EXPIRED), settings=WITH_KEYS),
    "another host": Ask(QUESTION_IN, headers={"host": "example.org"}),
    "a page of another site": Ask(QUESTION_IN, headers={"origin": "https://example.org"}),
    "a page of this machine": Ask(QUESTION_IN, headers={"origin": "http://localhost:8080"}),
    "a page that may": Ask(
        QUESTION_IN,
        headers=bearer(CLIENT, origin="https://example.org"),
        settings={**WITH_KEYS, "cors_origins": "https://example.org"},
        direct=False,
    ),
    "no JSON": Ask(b"When?", direct=False),
    "half a JSON": Ask(b'{"question": "When', direct=False),
    "no UTF-8": Ask(b'{"question": "\xff"}', direct=False),
    "a list": Ask(b"[1]", direct=False),
    "nothing": Ask(b"", direct=False),
    "an unknown field": Ask({**QUESTION_IN, "colour": "red"}, direct=False),
    "a blank question": Ask({"question": " "}, direct=False),
    "a wrong type": Ask({"question": 7}, direct=False),
    "a lone surrogate": Ask(b'{"question": "\\ud800"}', direct=False),
    "invalid, without a key": Ask(b"{", settings=WITH_KEYS),
    "no type": Ask(QUESTION_IN, headers={"content-type": ""}, direct=False),
    "a type with a charset": Ask(QUESTION_IN, headers={"content-type": "Application/JSON; charset=utf-8"}),
    "another type": Ask(QUESTION_IN, headers={"content-type": "text/plain"}, direct=False),
    "a type of its own": Ask(QUESTION_IN, headers={"content-type": "application/x+json"}, direct=False),
    "two types": Ask(QUESTION_IN, more_headers=((b"content-type", b"text/plain"),), direct=False),
    "no length": Ask(QUESTION_IN, headers={"content-length": ""}, direct=False),
    "a wrong length": Ask(QUESTION_IN, headers={"content-length": "9999999"}, direct=False),
    "chunks": Ask(QUESTION_IN, headers={"content-length": "", "transfer-encoding": "chunked"}, direct=False),
    "parts": Ask([b'{"question": ', orjson.dumps(QUESTION.text) + b"}"], direct=False),
    "invalid parts": Ask([b'{"question": ', b'"When?"'], direct=False),
    "large": Ask({"question": "When? " * 20_000}, direct=False),
    "too large": Ask({"question": "When? " * 200_000}, direct=False),
    "too large for the settings": Ask(LONG, settings={"max_body_bytes": 1000}, direct=False),
    "too large, sent as small": Ask(
        LONG, headers={"content-length": "9"}, settings={"max_body_bytes": 1000}, direct=False
    ),
    "too long": Ask({"question": "Why? " * 2000}),
    "a pipeline": Ask({**QUESTION_IN, "pipeline": "default"}),
    "no such pipeline": Ask({**QUESTION_IN, "pipeline": "other"}),
    "a conversation": Ask({**QUESTION_IN, "conversation_id": "a-conversation"}, times=2),
    "no conversation": Ask({**QUESTION_IN, "conversation_id": "a conversation"}, direct=False),
    "turns": Ask({**QUESTION_IN, "turns": [{"question": "When?", "answer": "At eight."}]}),
    "a turn without a question": Ask({**QUESTION_IN, "turns": [{"question": " ", "answer": "x"}]}),
    "options": Ask({**QUESTION_IN, "top_k": 3, "engine": "chat", "passages": True}),
    "a collection": Ask({**QUESTION_IN, "collections": ["kb"], "client": {"user": "ada", "referring_url": "x"}}),
    "in the background": Ask({**QUESTION_IN, "lane": "background"}, "/api/v1/questions"),
    "in the background, as a client": Ask(
        {**QUESTION_IN, "lane": "background"}, headers=bearer(CLIENT), settings=WITH_KEYS
    ),
    "a repeated request": Ask(QUESTION_IN, headers={"idempotency-key": "one"}, times=2),
    "a key that is too long": Ask(QUESTION_IN, headers={"idempotency-key": "k" * 300}, direct=False),
    "limits": Ask(QUESTION_IN, headers=bearer(CLIENT), settings=QUOTAS, times=4),
    "limits, streamed": Ask(QUESTION_IN, headers=bearer(CLIENT) | SSE, settings=QUOTAS, times=3),
    "too many streams": Ask(QUESTION_IN, headers=SSE, settings={"streams_per_key": 0}),
    "overload": Ask(QUESTION_IN, backlog=True),
    "the bus is away": Ask(QUESTION_IN, unavailable=True),
    "a tenant": Ask({"question": KEPT}, headers=bearer(CLIENT, **{"answerbus-tenant": "acme"}), settings=TENANTS),
    "no tenant": Ask(QUESTION_IN, headers=bearer(CLIENT), settings=TENANTS),
    "a strange tenant": Ask(QUESTION_IN, headers=bearer(CLIENT, **{"answerbus-tenant": "town"}), settings=TENANTS),
    "behind a prefix": Ask(QUESTION_IN, "/api/v1/query/", direct=False),
}


@asynccontextmanager
async def a_gateway(ask: Ask) -> AsyncIterator[tuple[GatewayApplication, Gateway]]:
    """A gateway whose questions are answered but one, and that has one kept answer in every tenant."""
    bus = MemoryBus(settings=Settings(**ask.settings), sections=ask.sections or EXACT)
    answering: set[asyncio.Task[Any]] = set()

    def answer(one: StoredEvent) -> None:
        event = one.decode()
        if QUESTION.text in event.payload.text and not event.payload.terminal:  # type: ignore[attr-defined]
            ending = following("verifier", verified("At eight. " * 120), event)
            answering.add(asyncio.create_task(bus.log.publish(ending)))

    await bus.log.follow("live.*.question.asked.*.*", answer)
    store = bus.context().stores.key_value(ANSWERS_BUCKET)
    ref = bus.pipelines.current("default")
    assert ref is not None
    for tenant in ("default", "town", "acme", "beta"):
        await store.put(generation_key(tenant), b"7" * 20)
        for language in ("", "eng"):
            await store.put(place_of(_key(tenant, ref, language)), written(_kept(), b"7" * 20))
    gateway = gateway_of(bus.context())
    if ask.backlog:
        gateway.admission._limit, gateway.admission._age = 5.0, 20.0
    await gateway.answers.open()
    await gateway.feed.open()
    if ask.unavailable:

        async def publish(*_: Any, **__: Any) -> None:
            raise UnavailableError("NATS is unavailable")

        bus.log.publish = publish  # type: ignore[method-assign, assignment]
    yield application(gateway), gateway
    await gateway.feed.close()
    await asyncio.gather(*answering)


def _key(tenant: str, ref: PipelineRef, language: str) -> str:
    return reuse_key(KEPT, tenant=tenant, pipeline=ref, language=language, turns=(), generation=b"")


def _kept() -> bytes:
    answer = Answer(content="At eight, <b>daily</b>. " * 40)
    kept = KeptAnswer(
        question=Question(text=KEPT, language="eng"),
        answer=answer,
        citations=CITATIONS,
        followups=FOLLOWUPS,
        confidence=7.5,
        engine="extractive",
        origin="c" * 32,
    )
    return kept.model_dump_json().encode()


async def exchange(app: ASGIApp, ask: Ask) -> list[Message]:
    """What the server is told to send."""
    parts = list(ask.parts)
    sent: list[Message] = []

    async def receive() -> Message:
        if not parts:
            await asyncio.Event().wait()
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(ask.scope(), receive, send)
    return sent


def comparable(sent: Sequence[Message]) -> list[Any]:
    """Status, headers in their order, and the body, without ids; compressed bodies as they are read."""
    status, headers = sent[0]["status"], dict(sent[0]["headers"])
    body = b"".join(one.get("body", b"") for one in sent[1:])
    if headers.get(b"content-encoding") == b"gzip":
        headers.pop(b"content-length")
        body = gzip.decompress(body)
    named = [(name, _ID.sub(b"ID", value)) for name, value in headers.items()]
    return [status, named, _ID.sub(b"ID", body)]


def _groups() -> dict[str, list[str]]:
    """The cases that one gateway can take, by the name of the first: an application takes long to build."""
    found: dict[str, list[str]] = {}
    for name, ask in CASES.items():
        found.setdefault(repr((ask.settings, ask.sections, ask.backlog, ask.unavailable)), []).append(name)
    return {names[0]: names for names in found.values()}


@pytest.mark.parametrize("names", [pytest.param(names, id=name) for name, names in _groups().items()])
async def test_both_ways_give_the_same_bytes(names: list[str]) -> None:
    async with a_gateway(CASES[names[0]]) as (short, _), a_gateway(CASES[names[0]]) as (ordinary, _):
        assert short.entrance is not None
        way = short.entrance._ordinary
        left: list[str] = []

        async def noted(scope: Any, receive: Any, send: Any) -> None:
            left.append(scope["path"])
            await way(scope, receive, send)

        short.entrance._ordinary = noted
        for name in names:
            ask = CASES[name]
            left.clear()
            for _ in range(ask.times):
                found = comparable(await exchange(short, ask))
                expected = comparable(await exchange(partial(FastAPI.__call__, ordinary), ask))
                assert found == expected, name
                STATUSES[name] = found[0]
            assert (short.entrance.takes(ask.scope()) and not left) == ask.direct, name


def test_the_cases_have_the_kinds_of_reply_that_they_are_named_after() -> None:
    expected = {
        "new": 200,
        "asked": 202,
        "resumed at a strange place": 400,
        "no key": 401,
        "another host": 403,
        "too large": 413,
        "a blank question": 422,
        "overload": 429,
        "limits": 429,
        "the bus is away": 503,
        "no answer in time": 504,
    }
    assert {name: STATUSES.get(name, status) for name, status in expected.items()} == expected


@pytest.mark.parametrize("way", ["short", "ordinary"])
async def test_a_body_that_stops_arriving_is_refused(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.question_entrance.PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(body_limit, "PAUSE_SECONDS", 0.01)
    ask = Ask([], headers={"content-length": "40"})
    async with a_gateway(ask) as (app, _):
        sent = await exchange(app if way == "short" else partial(FastAPI.__call__, app), ask)

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert b"0.01 seconds" in sent[1]["body"]


@pytest.mark.parametrize("way", ["short", "ordinary"])
async def test_a_bug_is_told_to_the_client_and_to_the_server(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Ask(QUESTION_IN)
    async with a_gateway(ask) as (app, gateway):

        async def broken(*_: Any) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(gateway.questions, "ask_and_wait", broken)
        sent: list[Message] = []

        async def noted(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
            async def send_too(message: Message) -> None:
                sent.append(message)
                await send(message)

            called = app if way == "short" else partial(FastAPI.__call__, app)
            await called(scope, receive, send_too)

        with pytest.raises(ZeroDivisionError):
            await exchange(noted, ask)

    assert sent[0]["status"] == 500
    assert orjson.loads(sent[1]["body"])["detail"].startswith("Internal error")


async def test_who_leaves_before_the_body_is_left_to_fastapi() -> None:
    ask = Ask(QUESTION_IN)
    async with a_gateway(ask) as (app, _):
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await app(ask.scope(), receive, send)

    assert sent[0]["status"] == 400


def test_what_is_parsed_in_a_thread_is_not_ordinary() -> None:
    assert len(CASES["large"].parts[0]) > LARGE
