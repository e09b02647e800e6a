"""KeyValue on a NATS key-value bucket (its subjects `$KV.<bucket>.<key>`).

The bucket is provisioned elsewhere, with direct gets and per-message TTL allowed. Plain publishes and direct gets are
used rather than the client's bucket object: that one cannot put with a TTL, and it needs the right to look at streams.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Callable, Sequence

import nats.errors
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from shared.contracts.errors import UnavailableError
from shared.stores.ports import UPDATE_TRIES, Change

#: Keys the server can spell as they are; all others are hashed, and `=` marks those so that no plain key equals one.
_PLAIN = re.compile(r"^[-/_a-zA-Z0-9][-/_=a-zA-Z0-9]{0,199}$")
_OPERATION = "KV-Operation"
#: The server leaves this header on the marker of a key whose time was up.
_MARKER = "Nats-Marker-Reason"
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_WRONG_LAST_SEQUENCE = 10071
_NO_STREAM = 10059
#: The message to be erased is not there any more.
_REPLACED = (10037, 10043, 10057)
_AWAY = (nats.errors.Error, APIError, NoStreamResponseError, asyncio.TimeoutError, OSError)


class NatsKeyValue:
    """One bucket; `jetstream` may be a function, called at first use, when the connection is not there yet."""

    def __init__(self, jetstream: JetStreamContext | Callable[[], JetStreamContext], bucket: str) -> None:
        self._jetstream = jetstream
        self._bucket = bucket

    async def get(self, key: str) -> bytes | None:
        value, _ = await self._read(key)
        return value

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return list(await asyncio.gather(*map(self.get, keys)))

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        try:
            await self._context().publish(self._subject(key), value, msg_ttl=_seconds(ttl))
        except _AWAY as error:
            raise self._unavailable(error) from error

    async def update(self, key: str, change: Change, *, ttl: float | None = None) -> None:
        for _ in range(UPDATE_TRIES):
            before, revision = await self._read(key)
            expected = {_EXPECTED: str(revision)}
            try:
                await self._context().publish(
                    self._subject(key), change(before), headers=expected, msg_ttl=_seconds(ttl)
                )
            except APIError as error:
                if error.err_code != _WRONG_LAST_SEQUENCE:
                    raise self._unavailable(error) from error
            except _AWAY as error:
                raise self._unavailable(error) from error
            else:
                return
        raise UnavailableError(f"a key of the bucket {self._bucket} is changed by too many at once")

    async def delete(self, key: str) -> None:
        try:
            await self._context().publish(self._subject(key), headers={_OPERATION: "DEL"})
        except _AWAY as error:
            raise self._unavailable(error) from error

    async def erase(self, key: str) -> None:
        """Overwrite the value where it is stored; a marker of its deletion would only hide it."""
        for _ in range(UPDATE_TRIES):
            _, revision = await self._read(key)
            if not revision:
                return
            try:
                await self._context().delete_msg(f"KV_{self._bucket}", revision)
            except NotFoundError:
                continue
            except APIError as error:
                if error.err_code not in _REPLACED:
                    raise self._unavailable(error) from error
            except _AWAY as error:
                raise self._unavailable(error) from error
        raise UnavailableError(f"a key of the bucket {self._bucket} is changed by too many at once")

    async def _read(self, key: str) -> tuple[bytes | None, int]:
        """The value and its revision; a key that was deleted, or whose time was up, may have one without a value."""
        subject = self._subject(key)
        try:  # no direct get: that sends stored bytes to any reply subject, and who writes them must not choose it
            message = await self._context().get_msg(f"KV_{self._bucket}", subject=subject)
        except NotFoundError as error:
            if error.err_code == _NO_STREAM:
                raise self._unavailable(error) from error
            return None, 0
        except _AWAY as error:
            raise self._unavailable(error) from error
        headers = message.headers or {}
        gone = _OPERATION in headers or _MARKER in headers
        return None if gone else message.data or b"", message.seq or 0

    def _context(self) -> JetStreamContext:
        return self._jetstream() if callable(self._jetstream) else self._jetstream

    def _subject(self, key: str) -> str:
        return f"$KV.{self._bucket}.{spelled(key)}"

    def _unavailable(self, error: BaseException) -> UnavailableError:
        return UnavailableError(f"the key-value bucket {self._bucket} does not answer ({type(error).__name__})")


def _seconds(ttl: float | None) -> int | None:
    """Whole seconds, one at least, is what the server counts in."""
    return None if ttl is None else max(1, math.ceil(ttl))


def spelled(key: str) -> str:
    """The key as one token the server accepts: itself, or `=` and its sha256 hex."""
    return key if _PLAIN.match(key) else f"={hashlib.sha256(key.encode()).hexdigest()}"
