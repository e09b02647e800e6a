"""The protocols of the gateway side by side: `python -m tests.bench --only faces`.

A token's way: the model stamps its tokens, a bare client reads them from the model and over each protocol, one answer
at a time. Then very many streams at once over each protocol: the answer worker is stopped (SIGSTOP) until all are open.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.support.platform import Platform, cli, running, write_pipeline
from tests.support.servers import free_port

from .answers import EACH, FIRST, PIPELINE, TEXT, TOKENS, numbered, platform_with_model
from .chains import Say
from .clients import open_files
from .models import model_server
from .report import Section
from .streams import NDJSON, WRITTEN, Streamed, ask_model, ask_platform, post_and_read
from .whole import corpus

STREAMS, QUICK_STREAMS = 500, 50
ANSWERS, QUICK_ANSWERS = 10, 2
#: Seconds until all streams must be open.
PATIENCE = 180.0


@dataclass(frozen=True)
class Piece:
    """What an event of a protocol says: text, that the draft is discarded or written, the question's id, the end.

    `whole` is the answer in the native result: of a question that is turned away, no token comes before it.
    """

    text: str = ""
    whole: str = ""
    reset: bool = False
    written: bool = False
    question: str = ""
    ended: bool = False


@dataclass(frozen=True)
class Face:
    """A protocol: where it is asked, with which body for a question of a pipeline, and how its events are read.

    The body is for drafts as they are written, or for text that is verified, where the protocol has that choice. MCP
    has no tokens: the whole answer comes at once.
    """

    name: str
    path: str
    body: Callable[[str, str, bool], dict[str, Any]]
    read: Callable[[str, dict[str, Any]], Piece]
    headers: dict[str, str] = field(default_factory=dict)
    tokens: bool = True


def _native(kind: str, data: dict[str, Any]) -> Piece:
    match kind:
        case "token":
            return Piece(text=data["text"])
        case "reset":
            return Piece(reset=True)
        case "status":
            return Piece(written=data["status"] == WRITTEN)
        case "result":
            return Piece(whole=data["result"]["answer"]["content"], question=data["id"], ended=True)
    return Piece()


def _chat(_: str, data: dict[str, Any]) -> Piece:
    if "error" in data:
        return Piece(ended=True)
    choice = data["choices"][0]
    return Piece(
        text=choice["delta"].get("content") or "",
        written=data.get("answerbus", {}).get("status") == WRITTEN,
        question=data["id"].removeprefix("chatcmpl-"),
        ended=bool(choice["finish_reason"]),
    )


def _responses(kind: str, data: dict[str, Any]) -> Piece:
    if kind == "response.output_text.delta":
        return Piece(text=data["delta"])
    question = data.get("response", {}).get("id", "").removeprefix("resp_")
    return Piece(question=question, ended=kind in ("response.completed", "response.failed", "error"))


def _ag_ui(_: str, data: dict[str, Any]) -> Piece:
    match data["type"]:
        case "TEXT_MESSAGE_CONTENT":
            return Piece(text=data["delta"])
        case "MESSAGES_SNAPSHOT":
            return Piece(reset=True)
        case "RUN_FINISHED":
            return Piece(question=data["result"]["id"], ended=True)
        case "RUN_ERROR":
            return Piece(ended=True)
    return Piece()


def _mcp(_: str, data: dict[str, Any]) -> Piece:
    if "result" not in data:
        return Piece(ended="error" in data)
    question = data["result"].get("structuredContent", {})
    text = question.get("result", {}).get("answer", {}).get("content", "")
    return Piece(text=text, question=question.get("id", ""), ended=True)


def _model_body(field: str) -> Callable[[str, str, bool], dict[str, Any]]:
    def body(question: str, pipeline: str, draft: bool) -> dict[str, Any]:
        content: Any = question if field == "input" else [{"role": "user", "content": question}]
        stream = "draft" if draft else "verified"
        return {"model": pipeline, field: content, "stream": True, "answerbus": {"stream": stream}}

    return body


def _run_body(question: str, pipeline: str, _: bool) -> dict[str, Any]:
    messages = [{"id": "1", "role": "user", "content": question}]
    return {"threadId": question, "runId": "1", "messages": messages, "forwardedProps": {"pipeline": pipeline}}


def _native_body(question: str, pipeline: str, _: bool) -> dict[str, Any]:
    return {"question": question, "pipeline": pipeline}


def _call_body(question: str, pipeline: str, _: bool) -> dict[str, Any]:
    named = "io.modelcontextprotocol"
    client = {f"{named}/clientInfo": {"name": "bench", "version": "1"}, f"{named}/clientCapabilities": {}}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "ask",
            "arguments": {"question": question, "pipeline": pipeline},
            "_meta": {f"{named}/protocolVersion": MCP_VERSION, **client, "progressToken": 1},
        },
    }


MCP_VERSION = "2026-07-28"
_MCP_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MCP_VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "ask",
}
FACES = (
    Face("native", "/api/v1/query", _native_body, _native),
    Face("NDJSON", "/api/v1/query", _native_body, _native, {"Accept": NDJSON}),
    Face("chat completions", "/v1/chat/completions", _model_body("messages"), _chat),
    Face("responses", "/v1/responses", _model_body("input"), _responses),
    Face("AG-UI", "/api/v1/ag-ui", _run_body, _ag_ui),
    Face("MCP", "/mcp", _call_body, _mcp, _MCP_HEADERS, tokens=False),
)


@dataclass
class Answered:
    """A stream over one protocol, read to its end."""

    streamed: Streamed
    text: str = ""
    question: str = ""
    ended: bool = False


async def ask(
    url: str, face: Face, question: str, pipeline: str, *, draft: bool, opened: asyncio.Event | None = None
) -> Answered:
    """Ask over the protocol; tokens count until the draft is written. `opened` is set by the first event, or the end.

    Raises:
        RuntimeError, OSError, TimeoutError, asyncio.IncompleteReadError: it was refused, or broke off.
    """
    answered, written, opened = Answered(Streamed()), False, opened or asyncio.Event()

    def read(streamed: Streamed, kind: str, data: dict[str, Any], began: float, began_wall: float) -> None:
        nonlocal written
        piece = face.read(kind, data)
        opened.set()
        # Where a protocol does not say that the draft is written: no token comes twice before that.
        if piece.text and not written and len(streamed.numbers) < TOKENS:
            streamed.take(piece.text, began, began_wall)
        answered.text = "" if piece.reset else (answered.text + piece.text) or piece.whole
        answered.question = piece.question or answered.question
        answered.ended, written = answered.ended or piece.ended, written or piece.written

    body = orjson.dumps(face.body(question, pipeline, draft))
    try:
        answered.streamed = await post_and_read(f"{url}{face.path}", body, read, face.headers)
    finally:
        opened.set()
    return answered


async def compare(*, rounds: int, quick: bool, say: Say) -> list[Section]:
    """What a token costs over each protocol, and many streams at once.

    Raises:
        RuntimeError: a stream was lost, or ended with another text than its question has.
    """
    open_files(4 * STREAMS + 2000)
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        port = free_port()
        with platform_with_model(root / "model", documents, port) as platform:
            tokens = await _tokens(platform, questions, port, rounds, QUICK_ANSWERS if quick else ANSWERS, say)
        pipeline = write_pipeline(root / "default", deadline_seconds=900)
        environment = {"ANSWERBUS_ADMISSION_SECONDS": "900", "ANSWERBUS_STREAMS_PER_KEY": "0"}
        with running(root / "many", env=environment) as platform:
            cli(
                "ingest", str(documents), "--url", platform.url, timeout=600
            )  # a few entries have no text, and are named
            applied = cli("pipelines", "apply", str(pipeline), "--data", str(platform.data))
            if applied.returncode:
                raise RuntimeError(applied.stderr[-1000:])
            many = await _many(platform, questions, QUICK_STREAMS if quick else STREAMS, say)
    return [tokens, many]


async def _tokens(
    platform: Platform, questions: Sequence[str], port: int, rounds: int, count: int, say: Say
) -> Section:
    section = Section(
        name="faces-tokens",
        title=f"A token's way over each protocol: {TOKENS} tokens, {EACH * 1e3:.0f} ms each, one answer at a time",
        measures=("token delay p50 ms", "p99 ms", "added to the model alone p50 ms", "added to native p50 ms"),
        baselines=(),
    )
    arguments = ("--first", str(FIRST), "--token", str(EACH), "--tokens", str(TOKENS), "--text", TEXT, "--stamp")
    with model_server(*arguments, port=port) as url:
        asked = iter(numbered(questions))
        ways: dict[str, Callable[[str], Awaitable[Streamed]]] = {"model alone": lambda one: ask_model(url, one)}
        for face in FACES:
            if face.tokens:
                ways[face.name] = _way(platform.url, face)
        for _ in range(4):  # every worker has seen a question
            await ask_platform(platform.url, next(asked), PIPELINE)
        for number in range(rounds):
            delays: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(count):
                for name, way in ways.items():
                    streamed = await way(next(asked))
                    if len(streamed.delays) < TOKENS:
                        raise RuntimeError(f"{name}: {len(streamed.delays)} of {TOKENS} tokens")
                    delays[name] += [delay * 1e3 for delay in streamed.delays]
            medians = {name: statistics.median(values) for name, values in delays.items()}
            for name, values in delays.items():
                figures = (
                    medians[name],
                    sorted(values)[int(len(values) * 0.99)],
                    medians[name] - medians["model alone"],
                    medians[name] - medians["native"],
                )
                section.add(name, dict(zip(section.measures, figures, strict=True)))
                say(f"round {number + 1}, {name}: {medians[name]:.2f} ms a token")
    return section


def _way(url: str, face: Face) -> Callable[[str], Awaitable[Streamed]]:
    async def way(question: str) -> Streamed:
        return (await ask(url, face, question, PIPELINE, draft=True)).streamed

    return way


async def _many(platform: Platform, questions: Sequence[str], count: int, say: Say) -> Section:
    section = Section(
        name="faces-many",
        title=f"{count} streams at once over each protocol",
        measures=(
            "streams",
            "ended with the text of their question %",
            "seconds from the first answer to the last end",
        ),
        baselines=(),
    )
    writer = platform.worker("answer")
    for face in FACES:
        os.kill(writer, signal.SIGSTOP)
        try:
            # None was asked before: a cached answer has no tokens.
            texts = [
                f"{questions[number % len(questions)]} ({face.name} {number} of {count})" for number in range(count)
            ]
            opened = [asyncio.Event() for _ in texts]
            streams = [
                asyncio.create_task(ask(platform.url, face, text, "default", draft=False, opened=event))
                for text, event in zip(texts, opened, strict=True)
            ]
            await asyncio.wait_for(asyncio.gather(*(event.wait() for event in opened)), PATIENCE)
        finally:
            os.kill(writer, signal.SIGCONT)
        began = time.perf_counter()
        answered = await asyncio.gather(*streams)
        took = time.perf_counter() - began
        if lost := await _lost(platform.url, answered):
            told = "; ".join(lost[:5])
            raise RuntimeError(f"{face.name}: {len(lost)} of {count} streams did not end with their text: {told}")
        section.add(face.name, dict(zip(section.measures, (count, 100.0, took), strict=True)))
        say(f"{count} streams over {face.name}: all whole, {took:.1f} s")
    return section


async def _lost(url: str, answered: Sequence[Answered]) -> list[str]:
    """The streams that did not end, or with another text than their question has natively."""
    lost = []
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        for one in answered:
            question = (await http.get(f"/api/v1/questions/{one.question}")).json() if one.question else {}
            expected = question.get("result", {}).get("answer", {}).get("content")
            if not one.ended or one.text != expected:
                lost.append(f"{one.question or 'no id'}: {one.text!r} and not {expected!r}")
    return lost
