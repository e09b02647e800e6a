"""Which stages have no ready worker, by what their workers reply; a busy machine may keep a reply."""

from __future__ import annotations

from typing import Any, cast

import pytest
from nats.aio.client import Client

from shared.bus import stage_status
from shared.bus.stage_status import REPEATED_REQUESTS, STAGES, stages_not_ready
from shared.observability.stage_faults import SILENT
from shared.observability.worker_status import WorkerReport


def reports(*stages: str) -> list[WorkerReport]:
    return [WorkerReport(stage=stage, worker=stage, pid=1, host="h", started_at=0) for stage in stages]


async def not_ready(monkeypatch: pytest.MonkeyPatch, *replies: list[WorkerReport]) -> tuple[dict[str, str], int]:
    """What is said where one request after the other gets these replies, and how many requests were sent."""
    waiting, sent = list(replies), 0

    async def ask(_: Any) -> list[WorkerReport]:
        nonlocal sent
        sent += 1
        return waiting.pop(0)

    monkeypatch.setattr(stage_status, "worker_reports", ask)
    return await stages_not_ready(cast("Client", None)), sent


@pytest.mark.parametrize("late", range(REPEATED_REQUESTS + 1))
async def test_a_stage_is_ready_whichever_request_it_replies_to(monkeypatch: pytest.MonkeyPatch, late: int) -> None:
    others = reports(*(STAGES - {"answer"}))
    replies = [others] * late + [reports(*STAGES)]

    assert await not_ready(monkeypatch, *replies) == ({}, late + 1)


async def test_a_stage_that_replies_to_no_request_has_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    others = reports(*(STAGES - {"answer"}))

    assert await not_ready(monkeypatch, *([others] * (REPEATED_REQUESTS + 1))) == (
        {"answer": SILENT},
        REPEATED_REQUESTS + 1,
    )
