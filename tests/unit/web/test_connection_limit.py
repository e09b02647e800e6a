"""Connections of clients: how many there may be, and which of them make room."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.web import asgi_server, http_protocol
from shared.web.asgi_server import AsgiServer
from shared.web.connection_limit import ConnectionLimit, Reason, most_connections
from shared.web.listener import listen
from tests.support.speed import limit
from tests.support.table import table

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Fake:
    """A connection that notes whether it was dropped."""

    dropped = False

    def drop(self) -> None:
        self.dropped = True


def opened(limits: ConnectionLimit, address: str, count: int) -> list[Fake]:
    connections = [Fake() for _ in range(count)]
    for one in connections:
        assert limits.admit(one, address)
    return connections


def test_the_one_that_has_been_idle_for_longest_makes_room() -> None:
    full: list[Reason] = []
    limits = ConnectionLimit(4, on_full=full.append)
    first, second = opened(limits, "10.0.0.1", 2)
    third, fourth = opened(limits, "10.0.0.2", 2)
    limits.busy(first)
    limits.idle(first)  # it has been idle for the shortest time now

    opened(limits, "10.0.0.3", 1)

    assert [one.dropped for one in (first, second, third, fourth)] == [False, True, False, False]
    assert full == ["total"]


def test_of_an_address_with_too_many_only_its_own_make_room() -> None:
    full: list[Reason] = []
    limits = ConnectionLimit(10, on_full=full.append)
    (other,) = opened(limits, "10.0.0.2", 1)
    own = opened(limits, "10.0.0.1", 8)

    assert not other.dropped
    assert [one.dropped for one in own] == [True] * 3 + [False] * 5
    assert full == ["address"] * 3


def test_none_that_is_busy_makes_room() -> None:
    limits = ConnectionLimit(4)
    busy = opened(limits, "10.0.0.1", 2) + opened(limits, "10.0.0.2", 2)
    for one in busy:
        limits.busy(one)

    assert not limits.admit(Fake(), "10.0.0.3")
    assert not any(one.dropped for one in busy)
    limits.ended(busy[0])
    assert limits.admit(Fake(), "10.0.0.3")


@table(
    ("proxies", "address", "counted"),
    [
        ("", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", False),
        ("10.0.0.0/8", "10.0.0.1", False),
        ("10.0.0.9, 10.0.0.1", "10.0.0.1", False),
        ("10.0.0.9", "10.0.0.1", True),
        ("*", "10.0.0.1", False),
        ("*", "2001:db8::1", False),
        ("2001:db8::/32", "2001:db8::1", False),
        ("2001:db8::/32", "10.0.0.1", True),
        ("proxy.example.org", "10.0.0.1", True),
        ("10.0.0.1", "unix", True),
        (" , ", "10.0.0.1", True),
    ],
)
def test_a_proxy_has_more_connections_than_another_address(proxies: str, address: str, counted: bool) -> None:
    limits = ConnectionLimit(4, proxies)
    assert any(one.dropped for one in opened(limits, address, 4)) == counted


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(("open", "busy", "idle", "end"))), max_size=60))
def test_there_are_never_more_than_allowed(steps: list[tuple[str, str]]) -> None:
    limits = ConnectionLimit(5)
    living: list[tuple[Fake, str]] = []
    for address, step in steps:
        if step == "open":
            one = Fake()
            if limits.admit(one, address):
                living.append((one, address))
        for one, _ in [pair for pair in living if pair[1] == address][:1]:
            {"open": lambda _: None, "busy": limits.busy, "idle": limits.idle, "end": limits.ended}[step](one)
            if step == "end":
                living.remove((one, address))
        living = [pair for pair in living if not pair[0].dropped]
        assert len(living) <= 5
        assert all(sum(1 for pair in living if pair[1] == name) <= 2 for name in "abc")


def test_the_limit_of_open_files_leaves_some_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 820), (256, 192), (64, 16), (1_048_576, 838_861)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert most_connections() == most


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Replies when the body is there; under `/stream` with 100 MB, part by part."""
    while (await receive()).get("more_body"):
        continue
    if scope["path"] == "/stream":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@contextlib.asynccontextmanager
async def served(monkeypatch: pytest.MonkeyPatch, most: int = 0, **options: Any) -> AsyncIterator[tuple[str, int]]:
    """The address of a server with so many connections."""

    def limits(**given: Any) -> ConnectionLimit:
        return ConnectionLimit(most, **given)

    monkeypatch.setattr(asgi_server, "ConnectionLimit", limits)
    sock = listen("127.0.0.1", 0)
    server = AsgiServer(hello, sock, shutdown_seconds=1, **options)
    await server.open()
    try:
        yield sock.getsockname()
    finally:
        await server.close()


async def test_idle_connections_do_not_keep_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    full: list[Reason] = []
    async with served(monkeypatch, 20, on_full=full.append) as address:
        idle = [await asyncio.open_connection(*address) for _ in range(60)]
        async with asyncio.timeout(limit(20)):
            for _ in range(20):
                reader, writer = await asyncio.open_connection(*address)
                writer.write(REQUEST)
                assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
                writer.close()
        closed = sum(reader.at_eof() for reader, _ in idle)
        for _, writer in idle:
            writer.close()

    assert closed >= 50
    assert len(full) >= 50


HALF_CLOSED = [
    REQUEST,
    REQUEST * 2,
    REQUEST * 9,
    b"GET / HTTP/1.0\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n",
    b"OPTIONS / HTTP/1.1\r\nhost: x\r\n\r\n",
    b"PUT /a/b?c=d HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
]


@pytest.mark.parametrize("sent", HALF_CLOSED)
async def test_a_client_that_says_it_sends_no_more_is_replied_to(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    async with served(monkeypatch) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        writer.write_eof()
        async with asyncio.timeout(limit(20)):
            received = await reader.read()  # to its end: the server closes, too
        writer.close()

    assert received.count(b"200 OK") == max(1, sent.count(b"GET / HTTP/1.1"))


@pytest.mark.parametrize(
    "sent", [b"", b"GET", REQUEST[:-2], b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab"]
)
async def test_a_client_that_leaves_in_the_middle_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.3)
    async with served(monkeypatch) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        if b"POST" in sent:
            writer.close()
            return
        writer.write_eof()
        async with asyncio.timeout(limit(20)):
            assert await reader.read() == b""
        writer.close()


def _drained(client: socket.socket) -> int:
    """The bytes that still come until the connection ends."""
    total = 0
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(2**20):
            total += len(part)
    return total


async def test_a_client_that_does_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "WRITE_SECONDS", 0.2)
    async with served(monkeypatch) as address:
        with socket.create_connection(address) as client:
            client.sendall(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
            client.settimeout(limit(20))
            await asyncio.sleep(limit(1))

            total = await asyncio.to_thread(_drained, client)

    assert total < 90_000_000
