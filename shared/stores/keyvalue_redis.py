"""KeyValue on Redis (extra `redis`); keys are `<prefix><key>`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.stores.ports import UPDATE_TRIES, Change

#: Seconds to connect, and to wait for a reply.
TIMEOUT = 5.0
#: Tasks beyond this many wait for a connection rather than being refused one.
CONNECTIONS = 32
#: Sets a key (to live ARGV[3] milliseconds, or for ever) if its value is still ARGV[1]; `-` alone: if there is none.
_SWAP = """
local found = redis.call('GET', KEYS[1])
if (found and ('=' .. found) or '-') ~= ARGV[1] then return 0 end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
"""


class RedisKeyValue:
    """One prefix of one database; connects at first use, from as many tasks as like."""

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        self._prefix = prefix
        self._client: Any = None

    async def get(self, key: str) -> bytes | None:
        value: bytes | None = await self._do("get", self._key(key))
        return value

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        values: list[bytes | None] = await self._do("mget", [self._key(key) for key in keys]) if keys else []
        return values

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        await self._do("set", self._key(key), value, px=_milliseconds(ttl))

    async def update(self, key: str, change: Change, *, ttl: float | None = None) -> None:
        for _ in range(UPDATE_TRIES):
            before = await self.get(key)
            there = b"-" if before is None else b"=" + before
            arguments = (self._key(key), there, change(before), _milliseconds(ttl) or "")
            if await self._do("eval", _SWAP, 1, *arguments):
                return
        raise UnavailableError("a key in Redis is changed by too many at once")

    async def delete(self, key: str) -> None:
        await self._do("delete", self._key(key))

    async def erase(self, key: str) -> None:
        """Redis keeps values in memory; files that it writes have them until it rewrites those."""
        await self.delete(key)

    async def close(self) -> None:
        """Give the connections back; the next use opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _key(self, key: str) -> str:
        return f"{self._prefix}{key}"

    async def _do(self, command: str, *arguments: Any, **options: Any) -> Any:
        if self._client is None:
            self._client = _connect(self._url)
        from redis.exceptions import RedisError

        try:
            return await getattr(self._client, command)(*arguments, **options)
        except (RedisError, OSError, TimeoutError) as error:
            raise UnavailableError(f"Redis does not answer ({type(error).__name__})") from error


def _milliseconds(ttl: float | None) -> int | None:
    return None if ttl is None else max(1, math.ceil(ttl * 1000))


def _connect(url: str) -> Any:
    """A client that fails within the timeout: the library would try a dead server four times over."""
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise ConfigurationError("ANSWERBUS_KEY_VALUE_URL needs the extra: pip install 'answerbus[redis]'") from error
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            retry=Retry(NoBackoff(), 0),
            health_check_interval=30,
        )
    except ValueError as error:
        raise ConfigurationError("ANSWERBUS_KEY_VALUE_URL is not a redis:// URL") from error
    return Redis.from_pool(pool)
