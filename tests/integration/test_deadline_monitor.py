"""Questions whose stages have no worker: persistence ends them, alone or with others, at once or after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.host.catalogue import stages
from cli.operations import bus
from services.persistence.app import build as persistence
from services.persistence.deadline_monitor import LEASE
from shared.contracts.facts import QuestionAbandoned
from tests.integration.rig import Rig, asked, until
from tests.support.speed import limit

pytestmark = pytest.mark.integration


def options(tmp_path: Path) -> dict[str, Any]:
    return {"data_dir": tmp_path}


async def test_a_question_that_no_worker_hears_is_ended_at_its_deadline_by_one_of_two_that_watch(
    rig: Rig, tmp_path: Path
) -> None:
    await bus.provision(rig.client, rig.settings(), stages(rig.settings()))
    async with rig.worker(persistence, **options(tmp_path)), rig.worker(persistence, **options(tmp_path)):
        event = await rig.publish(asked(deadline=0.5))
        ending = await rig.event(event.correlation_id, QuestionAbandoned)
        await rig.settled("persistence-ending")

    assert isinstance(ending.payload, QuestionAbandoned)
    assert (ending.payload.stage, ending.payload.kind) == ("moderation", "deadline")
    late = (ending.occurred_at - event.deadline).total_seconds()
    assert 0 < late < 5, f"{late} s after the deadline"
    assert (await rig.facts(event.correlation_id)).count("QuestionAbandoned") == 1


async def test_what_was_asked_while_nobody_watched_is_ended_after_a_restart(rig: Rig, tmp_path: Path) -> None:
    await bus.provision(rig.client, rig.settings(), stages(rig.settings()))
    async with rig.worker(persistence, **options(tmp_path)):
        first = await rig.publish(asked(deadline=0.2))
        await rig.event(first.correlation_id, QuestionAbandoned)
    second = await rig.publish(asked(deadline=0.2))
    await until(lambda: second.remaining < -0.5)

    async with rig.worker(persistence, **options(tmp_path)):
        ending = await rig.event(second.correlation_id, QuestionAbandoned)

    assert (ending.occurred_at - second.deadline).total_seconds() < limit(LEASE + 5)
