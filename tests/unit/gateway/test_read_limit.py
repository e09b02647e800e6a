"""What one caller may read of a gateway, and that others get their turns meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from services.gateway.access.caller import Caller
from services.gateway.limits.quotas import QuotaExceededError
from services.gateway.limits.read_limit import AT_ONCE, MOST_CALLERS, ReadLimit
from services.gateway.streaming.stream import LiveFeed
from tests.unit.gateway.harness import CID, run, running_gateway

KEYS = (
    "web:client:client-key-0123456789,shop:client:shop-key-0123456789,"
    "ed:editor:editor-key-0123456789,ops:operator:operator-key-012345"
)
WEB, SHOP, OPERATOR = (
    {"X-API-Key": key} for key in ("client-key-0123456789", "shop-key-0123456789", "operator-key-012345")
)
EDITOR = {"X-API-Key": "editor-key-0123456789"}
READS = [
    f"/api/v1/questions/{CID}",
    f"/api/v1/questions/{CID}?user=ada",
    f"/api/v1/questions/{CID}/events",
    f"/api/v1/questions/{'0' * 32}",
    f"/v1/responses/resp_{CID}",
    f"/v1/responses/resp_{CID}?stream=true",
    "/v1/models",
    "/v1/models/answerbus",
    "/api/v1/pipelines",
    f"/api/v1/submissions/{CID}",
    "/api/v1/documents/formats",
]


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("path", READS)
async def test_a_caller_that_has_read_enough_is_refused_and_others_are_not(path: str) -> None:
    async with running_gateway(api_keys=KEYS, rate_reads_per_minute=3) as here:
        await here.publish(*run("At eight."))
        statuses = [(await here.http.get(path, headers=EDITOR)).status_code for _ in range(3)]
        refused = await here.http.get(path, headers=EDITOR)
        others = [(await here.http.get(path, headers=key)).status_code for key in (SHOP, OPERATOR, OPERATOR, OPERATOR)]
        asked = await here.http.post("/api/v1/questions", json={"question": "When?"}, headers=EDITOR)

    assert 429 not in [*statuses, *others]
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.headers["ratelimit-policy"] == '"reads";q=3;w=60'
    assert ("error" in refused.json()) == path.startswith("/v1/")
    assert asked.status_code == 202


async def test_probes_and_pages_are_read_without_limit() -> None:
    async with running_gateway(api_keys=KEYS, rate_reads_per_minute=1) as here:
        for path in ("/livez", "/openapi.json", "/", "/docs") * 3:
            assert (await here.http.get(path, headers=WEB)).status_code == 200


async def test_reads_come_back_within_the_minute() -> None:
    clock = Clock()
    limit = ReadLimit(60, clock)
    caller = Caller("web", "client")

    async def reads(count: int) -> int:
        done = 0
        for _ in range(count):
            try:
                async with limit.turn(caller.account, counted=True):
                    done += 1
            except QuotaExceededError:
                continue
        return done

    assert await reads(100) == 60
    clock.now += 10
    assert await reads(100) == 10


async def test_a_caller_with_hundreds_of_reads_at_once_delays_nobody_else() -> None:
    limit = ReadLimit(0)
    most = under_way = 0
    finish = asyncio.Event()

    async def read() -> None:
        nonlocal most, under_way
        async with limit.turn("web", counted=True):
            under_way += 1
            most = max(most, under_way)
            await finish.wait()
            under_way -= 1

    crowd = [asyncio.create_task(read()) for _ in range(800)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    async with (
        asyncio.timeout(5),
        limit.turn("shop", counted=True),
        limit.turn(Caller("web", "client", user="a").account, counted=True),
    ):
        assert under_way == AT_ONCE
    finish.set()
    await asyncio.gather(*crowd)
    assert most == AT_ONCE


async def test_only_so_many_callers_are_remembered() -> None:
    limit = ReadLimit(6000)
    for number in range(MOST_CALLERS + 50):
        async with limit.turn(f"key{number}", counted=True):
            pass
    assert len(limit._readers) == MOST_CALLERS


async def test_a_stream_of_an_ended_question_reads_the_log_once_and_follows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    followed: list[str] = []
    read: list[str] = []
    async with running_gateway() as here:
        await here.publish(*run("At eight."))
        history = here.bus.log.history

        async def counted(correlation_id: str) -> object:
            read.append(correlation_id)
            return await history(correlation_id)

        async def follow(*arguments: object) -> object:
            followed.append(str(arguments))
            raise AssertionError

        monkeypatch.setattr(here.bus.log, "history", counted)
        monkeypatch.setattr(LiveFeed, "follow", follow)
        reply = await here.http.get(f"/api/v1/questions/{CID}/events")

    assert "event: result" in reply.text
    assert (read, followed) == ([CID], [])
