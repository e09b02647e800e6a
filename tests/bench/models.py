"""What the model layer adds to a call: a bare HTTP client, langchain alone, and ours, in turn over one model server.

The server answers at once, so that what remains is the callers' own time. A step is one JSON reply; a stream is 500
tokens, begun one after the other, which shows what a chunk costs. Then 100 streams at 50 ms per token share a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
from langchain_core.callbacks import AsyncCallbackHandler
from pydantic import BaseModel

from shared.llm.fallback import FallbackModels
from shared.llm.settings import ModelsSettings
from tests.support.servers import free_port

from .chains import Say
from .report import Section

ROOT = Path(__file__).resolve().parents[2]
SYSTEM, USER = "Say whether the question is about the library. " * 8, "When does the library open on Sundays?"
TOKENS = 500
BARE = "bare client"


class Verdict(BaseModel):
    """What the step asks for; the server's default reply fits it."""

    relevant: bool
    reason: str


class Ears(AsyncCallbackHandler):
    """Hears a stream; keeps when the first piece came and how late each stamped token was."""

    def __init__(self) -> None:
        self.first = 0.0
        self.delays: list[float] = []
        self.numbers: list[int] = []

    async def on_llm_new_token(self, token: Any, **_: Any) -> None:
        now = time.time()
        self.first = self.first or time.perf_counter()
        for piece in str(token).split():
            if "~" in piece:
                number, _, sent = piece.partition("~")
                self.numbers.append(int(number))
                self.delays.append(now - float(sent))

    async def on_retry(self, retry_state: Any, **_: Any) -> None:
        self.numbers.clear()


async def compare(*, rounds: int, quick: bool, say: Say) -> list[Section]:
    """Per call and per chunk, then a hundred streams at once."""
    calls = Section(
        name="models",
        title="One call of a model that answers at once",
        measures=("step p50 ms", "step CPU ms", "first token p50 ms", "CPU µs per chunk"),
        baselines=(BARE,),
    )
    many = Section(
        name="models-many",
        title="100 streams at once, 50 ms per token, 60 tokens each, in one process",
        measures=("tokens/s", "token delay p50 ms", "p99 ms", "CPU % of a core", "resident MB"),
        baselines=(),
    )
    count = 30 if quick else 200
    for number in range(rounds):
        with model_server("--first", "0", "--token", "0", "--tokens", str(TOKENS)) as url:
            async with _callers(url) as callers:
                for name, (step, stream) in callers.items():
                    calls.add(name, await _measure(step, stream, count))
                    say(f"round {number + 1}, models: {name}")
        with model_server("--first", "0.3", "--token", "0.05", "--tokens", "60", "--stamp") as url:
            many.add("ours", await _hundred(url))
            say(f"round {number + 1}, models: 100 streams")
    return [calls, many]


Step = Callable[[], Awaitable[object]]
#: Streams one reply; returns the seconds to its first token and the number of chunks.
Stream = Callable[[], Awaitable[tuple[float, int]]]


async def _measure(step: Step, stream: Stream, count: int) -> dict[str, float]:
    await step()
    await stream()
    took, spent = [], time.process_time()
    for _ in range(count):
        began = time.perf_counter()
        await step()
        took.append(time.perf_counter() - began)
    spent = time.process_time() - spent
    firsts, chunks, streamed = [], 0, time.process_time()
    for _ in range(max(5, count // 10)):
        first, number = await stream()
        firsts.append(first)
        chunks += number
    streamed = time.process_time() - streamed
    return {
        "step p50 ms": statistics.median(took) * 1e3,
        "step CPU ms": spent / count * 1e3,
        "first token p50 ms": statistics.median(firsts) * 1e3,
        "CPU µs per chunk": streamed / chunks * 1e6,
    }


@contextlib.asynccontextmanager
async def _callers(url: str) -> AsyncIterator[dict[str, tuple[Step, Stream]]]:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    async with httpx2.AsyncClient(timeout=60) as client:
        chat = ChatOpenAI(
            model="m", base_url=url, api_key=SecretStr("k"), max_retries=0, http_async_client=client, stream_usage=True
        )
        ours = _ours(url)
        yield {
            BARE: (lambda: _bare_step(client, url), lambda: _bare_stream(client, url)),
            "langchain": (lambda: chat.ainvoke(_spoken(), **_wanted()), lambda: _chain_stream(chat)),
            "ours": (lambda: ours.invoke("fast", "gate", SYSTEM, USER, Verdict), lambda: _our_stream(ours)),
        }
        await ours.close()


def _ours(url: str) -> FallbackModels:
    endpoint = {"name": "bench", "base_url": url, "model": "m", "json_mode": "schema", "concurrency": 200}
    return FallbackModels.from_settings(ModelsSettings.model_validate({"endpoints": [endpoint]}))


def _spoken() -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]


def _wanted() -> dict[str, Any]:
    schema = {"name": "Verdict", "schema": Verdict.model_json_schema()}
    return {"extra_body": {"response_format": {"type": "json_schema", "json_schema": schema}}}


async def _bare_step(client: httpx2.AsyncClient, url: str) -> Verdict:
    body = {"model": "m", "messages": _spoken(), **_wanted()["extra_body"]}
    said = orjson.loads((await client.post(f"{url}/chat/completions", json=body)).content)
    return Verdict.model_validate_json(said["choices"][0]["message"]["content"])


async def _bare_stream(client: httpx2.AsyncClient, url: str) -> tuple[float, int]:
    body = {"model": "m", "messages": _spoken(), "stream": True, "stream_options": {"include_usage": True}}
    began, first, chunks, text = time.perf_counter(), 0.0, 0, []
    async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                event = orjson.loads(line[6:])
                chunks += 1
                first = first or time.perf_counter() - began
                if event["choices"]:
                    text.append(event["choices"][0]["delta"].get("content", ""))
    return first, chunks


async def _chain_stream(chat: Any) -> tuple[float, int]:
    began, first, chunks = time.perf_counter(), 0.0, 0
    async for chunk in chat.astream(_spoken()):
        first = first or (time.perf_counter() - began if chunk.text else 0.0)
        chunks += 1
    return first, chunks


async def _our_stream(models: FallbackModels) -> tuple[float, int]:
    ears, began = Ears(), time.perf_counter()
    await models.chat("main", "answer").ainvoke(_spoken(), {"callbacks": [ears]})
    return ears.first - began, TOKENS + 2


async def _hundred(url: str) -> dict[str, float]:
    """All streams begin together; a token's delay is from when the server sent it to when the listener has it.

    Raises:
        RuntimeError: a token was lost or came out of order.
    """
    models = _ours(url)
    await models.warm()
    ears = [Ears() for _ in range(100)]
    began, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(models.chat("main", "answer").ainvoke(_spoken(), {"callbacks": [one]}) for one in ears))
    took, spent = time.perf_counter() - began, time.process_time() - spent
    await models.close()
    if any(one.numbers != list(range(60)) for one in ears):
        raise RuntimeError("a token was lost or came out of order")
    delays = sorted(delay * 1e3 for one in ears for delay in one.delays)
    return {
        "tokens/s": len(delays) / took,
        "token delay p50 ms": statistics.median(delays),
        "p99 ms": delays[int(len(delays) * 0.99)],
        "CPU % of a core": spent / took * 100,
        "resident MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@contextlib.contextmanager
def model_server(*arguments: str, port: int = 0) -> Iterator[str]:
    """A model server in a process of its own; its URL."""
    port = port or free_port()
    command = [sys.executable, "-m", "tests.support.model_server", "--port", str(port), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it says where it listens once it does
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
