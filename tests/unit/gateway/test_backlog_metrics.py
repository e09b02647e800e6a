"""The backlog of every stage among a gateway's metrics, for those who scale by it."""

from __future__ import annotations

from shared.contracts.domain import Lane
from shared.observability.worker_status import StageReport
from tests.unit.gateway.harness import running_gateway


def report(pending: int, lane: Lane = Lane.LIVE, paused: float | None = None) -> StageReport:
    return StageReport(
        stage="answer",
        lane=lane,
        subscription="passages-retrieved",
        pending=pending,
        in_flight=3,
        redelivered=0,
        oldest_seconds=4.5,
        workers=2,
        done=0,
        p50_ms=None,
        p95_ms=None,
        paused_seconds=paused,
    )


async def test_metrics_tell_the_backlog_by_stage_and_lane() -> None:
    async with running_gateway() as here:
        here.bus.reports = [report(7), report(900, Lane.BACKGROUND, paused=60.0)]
        text = (await here.http.get("/metrics")).text

    live, background = (f'{{lane="{lane}",stage="answer",subscription="passages-retrieved"}}' for lane in Lane)
    assert f"answerbus_backlog_pending{live} 7.0" in text
    assert f"answerbus_backlog_pending{background} 900.0" in text
    assert f"answerbus_backlog_in_flight{live} 3.0" in text
    assert f"answerbus_backlog_oldest_seconds{live} 4.5" in text
    assert f"answerbus_backlog_paused{background} 1.0" in text
    assert 'answerbus_workers{stage="answer"} 2.0' in text


async def test_while_the_bus_is_away_there_is_no_backlog_rather_than_an_old_one() -> None:
    async with running_gateway() as here:
        here.bus.reports = [report(7)]
        await here.http.get("/metrics")
        here.bus.log.unavailable = True
        reply = await here.http.get("/metrics")

    assert reply.status_code == 200
    assert "answerbus_backlog_pending{" not in reply.text
