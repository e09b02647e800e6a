"""While the oldest question waits too long, new ones are asked to come back."""

from __future__ import annotations

import asyncio

import pytest

from services.gateway.http.problems import MEDIA_TYPE
from services.gateway.limits.admission import Admission
from shared.contracts.domain import Lane
from shared.contracts.errors import OverloadedError, UnavailableError
from shared.observability import telemetry
from shared.observability.worker_status import LiveBacklog
from tests.unit.gateway.harness import CID, asked, running_gateway


class Backlog:
    """An age that a test sets; each look at it is counted."""

    def __init__(self, age: float) -> None:
        self.age = age
        self.paused: dict[str, float] = {}
        self.unavailable = False
        self.looked = asyncio.Event()

    async def live(self) -> LiveBacklog:
        self.looked.set()
        if self.unavailable:
            raise UnavailableError("the bus is away")
        return LiveBacklog({"answer": self.age}, self.paused)

    async def seen(self) -> None:
        """Return when the backlog has been looked at once more."""
        self.looked.clear()
        await self.looked.wait()


@pytest.fixture
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.limits.admission.INTERVAL", 0.0)


@pytest.mark.usefixtures("always_looking")
async def test_questions_are_refused_while_the_oldest_waits_too_long_and_let_in_again_after() -> None:
    backlog = Backlog(20.0)
    admission = Admission(backlog.live, 15.0)
    admission.check(Lane.LIVE)
    await admission.open()
    await backlog.seen()
    refused_before = telemetry.REFUSED._value.get()

    with pytest.raises(OverloadedError) as refused:
        admission.check(Lane.LIVE)

    assert refused.value.retry_after == 6
    assert telemetry.REFUSED._value.get() == refused_before + 1
    backlog.age = 15.0
    await backlog.seen()
    admission.check(Lane.LIVE)
    await admission.close()


@pytest.mark.usefixtures("always_looking")
async def test_admission_stays_as_it_was_while_the_backlog_cannot_be_read() -> None:
    backlog = Backlog(20.0)
    admission = Admission(backlog.live, 15.0)
    await admission.open()
    await backlog.seen()
    backlog.unavailable = True
    await backlog.seen()

    with pytest.raises(OverloadedError):
        admission.check(Lane.LIVE)

    await admission.close()


async def test_with_nothing_to_refuse_nobody_looks_and_everybody_is_let_in() -> None:
    backlog = Backlog(1000.0)
    admission = Admission(backlog.live, 0, while_paused="accept")
    await admission.open()

    admission.check(Lane.LIVE)

    assert not backlog.looked.is_set()
    await admission.close()


@pytest.mark.parametrize("path", ["/api/v1/questions", "/api/v1/query"])
async def test_a_question_in_a_long_queue_is_told_when_to_come_back(path: str) -> None:
    async with running_gateway() as here:
        here.bus.backlog_seconds = 100.0
        await here.gateway.admission.open()
        await asyncio.sleep(0)  # the first look; no time passes

        reply = await here.http.post(path, json={"question": "When?"})

        assert reply.status_code == 429
        assert reply.headers["retry-after"] == "86"
        assert reply.headers["content-type"] == MEDIA_TYPE
        assert here.bus.log.stored == []
        await here.gateway.admission.close()


async def test_a_long_queue_refuses_no_reading() -> None:
    async with running_gateway() as here:
        await here.publish(asked())
        here.bus.backlog_seconds = 100.0
        await here.gateway.admission.open()
        await asyncio.sleep(0)

        assert (await here.http.get(f"/api/v1/questions/{CID}")).status_code == 200
        await here.gateway.admission.close()
