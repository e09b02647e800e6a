"""A client for reading addresses that somebody wrote down.

Each hop's name is resolved once, every address it stands for is judged, and the connection goes to one of exactly
those: a name cannot stand for something else between the look and the leap. TLS is verified against the name.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from types import TracebackType
from typing import Any
from urllib.parse import urljoin

import httpcore

from shared.contracts.errors import RefusedError, UnavailableError
from shared.web.hosts import matches
from shared.web.pace import Pace
from shared.web.policy import AddressLeadsAwayError, AddressRefusedError, Policy, Target

USER_AGENT = "answerbus"
_REDIRECTS = frozenset([301, 302, 303, 307, 308])
_CHUNK = 64 * 1024

#: A host name and port to addresses, as text.
Resolver = Callable[[str, int], Awaitable[list[str]]]
#: Is told an address; raises where it must not be fetched.
Onward = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Fetched:
    """What came back: `url` is where it came from after redirects, `headers` by lower-case name."""

    url: str
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class _Wanted:
    """What is asked of a server: with `cut` a longer body is taken to `max_bytes`; None: no body at all."""

    method: str = "GET"
    max_bytes: int | None = None
    cut: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class SafeClient:
    """Fetches within a policy; one per process or command, to be entered with `async with`.

    No cookies, no proxies from the environment, no credentials of any kind but the headers it is given.
    """

    def __init__(
        self, policy: Policy | None = None, *, resolve: Resolver | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.policy = policy or Policy()
        self._pace = Pace(self.policy.per_second)
        network = _Guarded(self.policy, resolve or resolve_by_system)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or ssl.create_default_context(),
            max_connections=32,
            keepalive_expiry=15,
            network_backend=network,
        )

    async def __aenter__(self) -> SafeClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection."""
        await self._pool.aclose()

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        onward: Onward | None = None,
    ) -> Fetched:
        """The page at the address, following redirects; headers given go to the first host only.

        `onward` is asked about each address that a redirect leads to, before it is fetched; it raises to stop there.

        Raises:
            AddressRefusedError: the address, or one it leads to, must not be fetched.
            RefusedError: the answer is too large, too often redirected, or cannot be read.
            UnavailableError: the server does not answer in time, or not at all.
        """
        limit = self.policy.max_bytes if max_bytes is None else max_bytes
        async with self._within_time():
            return await self._follow(url, _Wanted(max_bytes=limit, headers=headers or {}), onward)

    async def peek(self, url: str, *, max_bytes: int) -> Fetched:
        """The page as `get`, but only its first bytes: a longer one is cut, not refused."""
        async with self._within_time():
            return await self._follow(url, _Wanted(max_bytes=max_bytes, cut=True))

    async def head(self, url: str) -> Fetched:
        """How the address answers to HEAD, after redirects. Raises as `get`."""
        async with self._within_time():
            return await self._follow(url, _Wanted("HEAD"))

    async def status(self, url: str) -> Fetched:
        """How the address answers, after redirects, without its body: to HEAD, or to GET where HEAD is not liked.

        Raises:
            AddressRefusedError, RefusedError, UnavailableError: as `get`.
        """
        async with self._within_time():
            answer = await self._follow(url, _Wanted("HEAD"))
            return answer if answer.status < 400 else await self._follow(url, _Wanted())

    @asynccontextmanager
    async def _within_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.policy.total_seconds):
                yield
        except TimeoutError:
            raise UnavailableError(f"no answer within {self.policy.total_seconds:g} seconds") from None

    async def _follow(self, url: str, wanted: _Wanted, onward: Onward | None = None) -> Fetched:
        first = target = self.policy.target(url)
        for hop in range(self.policy.max_redirects + 1):
            own = wanted if _origin(target) == _origin(first) else replace(wanted, headers={})
            try:
                answer = await self._once(target, own)
                location = answer.headers.get("location", "")
                if answer.status not in _REDIRECTS or not location:
                    return answer
            except AddressRefusedError as error:
                raise (AddressLeadsAwayError(str(error)) if hop else error) from None
            target = self._next(target, location)
            if onward is not None:
                await onward(target.url)
        raise RefusedError(f"more than {self.policy.max_redirects} redirects")

    def _next(self, target: Target, location: str) -> Target:
        try:
            return self.policy.target(urljoin(target.url, location))
        except ValueError:
            raise AddressLeadsAwayError("the page leads to an address that cannot be read") from None
        except AddressRefusedError as error:
            raise AddressLeadsAwayError(str(error)) from None

    async def _once(self, target: Target, wanted: _Wanted) -> Fetched:
        """One hop."""
        if not matches(target.host, self.policy.inside):
            await self._pace.turn(target.host)
        seconds = self.policy.step_seconds
        sent = {"user-agent": USER_AGENT, "accept": "*/*", "accept-encoding": "gzip, deflate", **wanted.headers}
        timeouts = {"connect": seconds, "read": seconds, "write": seconds, "pool": seconds}
        try:
            async with self._pool.stream(
                wanted.method, target.url, headers=list(sent.items()), extensions={"timeout": timeouts}
            ) as response:
                received = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                unread = wanted.max_bytes is None or (response.status in _REDIRECTS and "location" in received)
                body = b"" if unread else await _body(response.aiter_stream(), received, wanted)
                return Fetched(target.url, response.status, body, received)
        except httpcore.TimeoutException:
            raise UnavailableError(f"{target.host} does not answer in time") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
            raise UnavailableError(f"{target.host} cannot be reached ({type(error).__name__})") from None


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Every address the system's resolver knows for the name.

    Raises:
        UnavailableError: there is none, or the resolver does not answer.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnavailableError(f"{host} cannot be resolved") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class _Guarded(httpcore.AsyncNetworkBackend):
    """Connects to judged addresses only."""

    def __init__(self, policy: Policy, resolve: Resolver) -> None:
        self._policy = policy
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._addresses(host, port, timeout)
        self._policy.check_resolved(host, addresses)
        failed: Exception = httpcore.ConnectError()
        for address in addresses[:4]:
            try:
                return await self._network.connect_tcp(
                    address, port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    async def _addresses(self, host: str, port: int, timeout: float | None) -> list[str]:
        try:
            return [str(ip_address(host))]  # it is one itself
        except ValueError:
            pass  # a name
        try:
            async with asyncio.timeout(timeout):
                return await self._resolve(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout from None

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise AddressRefusedError("sockets of the machine are not fetched")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _body(stream: AsyncIterator[bytes], headers: Mapping[str, str], wanted: _Wanted) -> bytes:
    """The body, unpacked, never more than `max_bytes` of it in memory.

    Raises:
        RefusedError: it is larger (unless it is to be cut), or not packed as its headers say.
    """
    limit = wanted.max_bytes or 0
    too_large = RefusedError(f"the page is larger than {limit} bytes")
    length = headers.get("content-length", "")
    if not wanted.cut and length.isdigit() and int(length[:19]) > limit:
        raise too_large
    unpack = _unpacking(headers.get("content-encoding", "identity").strip().lower(), limit)
    parts: list[bytes] = []
    size = 0
    async for chunk in stream:
        for start in range(0, len(chunk), _CHUNK):
            parts.append(unpack(chunk[start : start + _CHUNK]))
            size += len(parts[-1])
            if size > limit and wanted.cut:
                return b"".join(parts)[:limit]
            if size > limit:
                raise too_large
    if isinstance(unpack, _Unpacker) and size and not unpack.complete:
        raise RefusedError("the page is damaged: it ends too early")
    return b"".join(parts)


def _unpacking(encoding: str, max_bytes: int) -> Callable[[bytes], bytes]:
    if encoding in ("", "identity"):
        return _as_it_is
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Unpacker(encoding, max_bytes)
    raise RefusedError("the page came packed in a way that was not asked for")


class _Unpacker:
    """Unpacks piece by piece; a piece that unpacks to more than the limit is not unpacked to its end."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._raw = encoding == "deflate"
        self._limit = max_bytes + 1
        self._inner = zlib.decompressobj(wbits=zlib.MAX_WBITS if self._raw else zlib.MAX_WBITS | 16)

    @property
    def complete(self) -> bool:
        return self._inner.eof

    def __call__(self, piece: bytes) -> bytes:
        try:
            return self._inner.decompress(piece, self._limit)
        except zlib.error:
            if not self._raw:
                raise RefusedError("the page is damaged: it cannot be unpacked") from None
        # Some servers leave out the header of deflate.
        self._raw, self._inner = False, zlib.decompressobj(wbits=-zlib.MAX_WBITS)
        return self(piece)


def _as_it_is(piece: bytes) -> bytes:
    return piece


def _origin(target: Target) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port
