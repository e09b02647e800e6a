"""A machine whose clock is wrong: it is measured against NATS's, named, and ends no question."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cli.operations import bus
from cli.operations.doctor import clock_difference
from shared.bus.clock_monitor import ClockMonitor
from shared.contracts import clock
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.facts import QuestionAsked
from shared.llm.time_budget import TimeBudget
from tests.integration.rig import Rig

pytestmark = pytest.mark.integration
#: Seconds that a machine's clock is ahead.
WRONG = [70.0, 3600.0, 6.5, 86_400.0, 31_536_000.0, -70.0, -3600.0, -6.5, -86_400.0, 90.25]


@pytest.fixture(autouse=True)
def right_again() -> Iterator[None]:
    yield
    clock.set_ahead(0)


async def measured(rig: Rig, ahead: float) -> ClockMonitor:
    await bus.provision(rig.client, rig.settings(), [])
    monitor = ClockMonitor(lambda: rig.client, lambda: time.time() + ahead)
    await monitor.measure()
    return monitor


@pytest.mark.parametrize("ahead", WRONG)
async def test_a_wrong_clock_is_measured_and_set_right_for_deadlines(rig: Rig, ahead: float) -> None:
    monitor = await measured(rig, ahead)
    platform = clock.now() + timedelta(seconds=ahead)  # as that machine would compute it from its own clock

    assert monitor.ahead == pytest.approx(ahead, abs=1)
    assert platform.timestamp() == pytest.approx(time.time(), abs=1)


@pytest.mark.parametrize("ahead", [0.0, 0.3, -0.3])
async def test_what_clocks_differ_by_anyway_changes_nothing(rig: Rig, ahead: float) -> None:
    await measured(rig, ahead)

    assert abs((clock.now() - datetime.now(UTC)).total_seconds()) < 0.1


@pytest.mark.parametrize(("ahead", "verdict"), [(0.0, "ok"), (70.0, "warn"), (-3600.0, "warn"), (4.0, "ok")])
async def test_doctor_names_a_wrong_clock_of_its_machine(rig: Rig, ahead: float, verdict: str) -> None:
    await bus.provision(rig.client, rig.settings(), [])

    (check,) = await clock_difference(rig.settings(), lambda: time.time() + ahead)

    assert check.verdict == verdict
    assert verdict == "ok" or f"{ahead:+.0f} s from that of NATS" in check.detail


async def test_without_a_reply_the_last_measurement_stays(rig: Rig) -> None:
    monitor = await measured(rig, 70)
    await rig.client.jetstream().delete_stream("KV_pipelines")

    await monitor.measure()

    assert monitor.ahead == pytest.approx(70, abs=1)


def test_a_question_of_a_right_machine_has_its_time_on_a_wrong_one() -> None:
    asked = opening("gateway", QuestionAsked(text="?"), pipeline=PipelineRef(name="x", revision=1), deadline_seconds=60)
    # A clock that is 70 s ahead reads the deadline as passed; `set_ahead` is what it has measured.
    late = asked.model_copy(update={"deadline": asked.deadline - timedelta(seconds=70)})
    assert late.remaining < 0

    clock.set_ahead(70)

    assert late.remaining == pytest.approx(60, abs=2)
    assert TimeBudget(late.deadline, 0.5).left == pytest.approx(30, abs=2)
