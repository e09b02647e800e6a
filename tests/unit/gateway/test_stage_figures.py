"""Figures that many streams share, and a drain whose client leaves."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from fastapi import Request

from services.gateway.http.problems import HttpProblem
from services.gateway.operators.stage_figures import INTERVAL, FigureReader, declared_flow
from services.gateway.routes.stages import _while_connected
from shared.bus.ports import StageDurable
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import FACTS
from shared.observability.worker_status import StageReport


async def test_many_readers_cost_one_reading_per_interval() -> None:
    now, readings = 100.0, 0

    async def overview() -> list[StageReport]:
        nonlocal readings
        readings += 1
        await asyncio.sleep(0)
        return []

    reader = FigureReader(overview, clock=lambda: now)
    first = await asyncio.gather(*(reader.current() for _ in range(20)))
    now += INTERVAL
    await reader.current()

    assert readings == 2
    assert len({id(one) for one in first}) == 1


async def test_a_reading_that_failed_is_not_kept() -> None:
    answers = iter([UnavailableError("NATS is unavailable"), []])

    async def overview() -> list[StageReport]:
        answer = next(answers)
        if isinstance(answer, UnavailableError):
            raise answer
        return answer

    reader = FigureReader(overview, clock=lambda: 100.0)
    with pytest.raises(UnavailableError):
        await reader.current()

    assert (await reader.current()).stages == ()


class LeavingClient:
    """A request whose client has gone."""

    async def is_disconnected(self) -> bool:
        return True


async def test_a_drain_ends_when_its_client_leaves_and_nothing_is_paused() -> None:
    ended = asyncio.Event()

    async def drain() -> list[StageDurable]:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return []

    with pytest.raises(HttpProblem):
        await _while_connected(drain(), cast("Request", LeavingClient()))
    await asyncio.wait_for(ended.wait(), 60)


def test_the_flow_has_every_fact_once() -> None:
    assert [one.fact for one in declared_flow().facts] == list(FACTS)
