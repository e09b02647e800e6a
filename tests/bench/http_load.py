"""A closed-loop load of questions over HTTP: k connections, each asks, waits for the whole answer, asks the next.

    python -m tests.bench.http_load --url http://127.0.0.1:8080 --questions FILE --in-flight 64 --count 2000

It speaks HTTP/1.1 over bare sockets: a client library would take a good part of the two cores it shares with the
servers it measures.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlsplit

import orjson
import uvloop

PATH = "/api/v1/query"

#: Seconds without an answer after which a request counts as an error.
PATIENCE = 120.0
#: The longest wait a refusal (429) may ask for before the connection tries again, in seconds.
LONGEST_WAIT = 1.0


@dataclass(frozen=True)
class Reply:
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Tally:
    """What came back. Only complete answers count for speed; refusals (429) and errors are counted by kind."""

    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    reused: int = 0


@dataclass(frozen=True)
class LoadFigures:
    """Result of a load; latencies in milliseconds, over the complete answers."""

    answered: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    refused: int
    reused: int
    errors: dict[str, int]
    outcomes: dict[str, int]


class Connection:
    """One keep-alive connection; it is opened again when the server closes it."""

    def __init__(self, url: str, *, key: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"a plain http:// address is needed, not {url}")
        self._host, self._port = parts.hostname, parts.port or 80
        authorization = f"Authorization: Bearer {key}\r\n" if key else ""
        self._head = (
            f"POST {parts.path.rstrip('/')}{PATH} HTTP/1.1\r\nHost: {parts.netloc}\r\n{authorization}"
            "Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: "
        ).encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> Reply:
        """Send the body and read the whole response.

        Raises:
            OSError: the server is away or broke the connection off.
            asyncio.IncompleteReadError: it stopped in the middle of a response.
        """
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=2**20)
        reader, writer = self._streams
        writer.write(b"%s%d\r\n\r\n%s" % (self._head, len(body), body))
        reply = await read_reply(reader)
        if reply.headers.get("connection", "").lower() == "close":
            self.close()
        return reply

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """Read one response: status line, headers, and a body given by its length or in chunks."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Reply(int(status_line.split(" ", 2)[1]), headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":  # trailers say nothing we need
        continue
    return b"".join(parts)


def read_questions(path: Path) -> list[str]:
    """The questions of a JSONL file, from the field `question` or `text` of each line.

    Raises:
        ValueError: no line has either.
    """
    lines = (orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip())
    questions = [text for line in lines if (text := line.get("question") or line.get("text"))]
    if not questions:
        raise ValueError(f"no questions in {path.name}")
    return questions


#: Goes on over all loads of a run, so that none repeats another's questions.
_NUMBERS = itertools.count(1)


def bodies(questions: Sequence[str], count: int, *, distinct: bool, pipeline: str = "") -> Iterator[bytes]:
    """`count` request bodies; `distinct` numbers the questions so that no cache can answer the later ones."""
    for question in itertools.islice(itertools.cycle(questions), count):
        request = {"question": f"{question} ({next(_NUMBERS)})" if distinct else question}
        yield orjson.dumps({**request, "pipeline": pipeline} if pipeline else request)


async def load(url: str, requests: Iterator[bytes], *, in_flight: int, key: str = "") -> LoadFigures:
    """Put every request through, `in_flight` at once, and say how it went."""
    tally = Tally()

    async def lane() -> None:
        connection = Connection(url, key=key)
        try:
            for body in requests:
                await _ask(connection, body, tally)
        finally:
            connection.close()

    clock = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(lane())
    return _figures(tally, time.perf_counter() - clock)


async def _ask(connection: Connection, body: bytes, tally: Tally) -> None:
    clock = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await connection.post(body)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        connection.close()
        tally.errors[type(error).__name__] += 1
        return
    if reply.status == 429:
        tally.refused += 1
        wait = reply.headers.get("retry-after", "")
        await asyncio.sleep(min(float(wait), LONGEST_WAIT) if wait.isdigit() else LONGEST_WAIT)
    elif reply.status != 200:
        tally.errors[str(reply.status)] += 1
    else:
        tally.seconds.append(time.perf_counter() - clock)
        answer = orjson.loads(reply.body)
        tally.outcomes[str(answer.get("status"))] += 1
        tally.reused += bool((answer.get("result") or {}).get("reused"))


def _figures(tally: Tally, elapsed: float) -> LoadFigures:
    # quantiles() wants two values; a load without answers is reported, not hidden by an error.
    seconds = tally.seconds if len(tally.seconds) > 1 else [*tally.seconds, float("nan"), float("nan")]
    percentiles = [value * 1000 for value in quantiles(seconds, n=100)]
    return LoadFigures(
        answered=len(tally.seconds),
        per_second=len(tally.seconds) / elapsed,
        p50_ms=percentiles[49],
        p95_ms=percentiles[94],
        p99_ms=percentiles[98],
        refused=tally.refused,
        reused=tally.reused,
        errors=dict(tally.errors),
        outcomes=dict(tally.outcomes),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.http_load", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--url", required=True, help="the gateway, such as http://127.0.0.1:8080")
    parser.add_argument("--questions", type=Path, required=True, help="JSONL with a field `question` or `text`")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--distinct", action="store_true", help="number the questions, so that no answer is reused")
    parser.add_argument("--pipeline", default="", help="name of the pipeline; empty: the server's default")
    parser.add_argument("--key", default="", help="API key, where the server asks for one")
    arguments = parser.parse_args()
    questions = read_questions(arguments.questions)
    requests = bodies(questions, arguments.count, distinct=arguments.distinct, pipeline=arguments.pipeline)
    figures = uvloop.run(load(arguments.url, requests, in_flight=arguments.in_flight, key=arguments.key))
    print(json.dumps(asdict(figures), indent=2))


if __name__ == "__main__":
    main()
