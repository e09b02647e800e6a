"""A replica that lags or hangs is sent a direct get: the log then asks the leader."""

from __future__ import annotations

from typing import Any

import pytest

from shared.bus.event_log import NatsEventLog
from shared.bus.ports import StoredEvent
from shared.contracts.envelope import following
from shared.contracts.facts import QuestionWithdrawn
from tests.integration.rig import Rig, asked

pytestmark = pytest.mark.integration


class LaggingLog(NatsEventLog):
    """A log whose direct gets are answered by a replica that has nothing yet."""

    async def _batch(self, query: dict[str, Any], timeout: float) -> list[StoredEvent]:
        return []


class HangingLog(NatsEventLog):
    """A log whose direct gets are sent to a replica that hangs."""

    async def _batch(self, query: dict[str, Any], timeout: float) -> list[StoredEvent]:
        raise TimeoutError


@pytest.mark.parametrize("replica", [LaggingLog, HangingLog])
async def test_history_and_ending_are_read_from_the_leader_when_a_replica_gives_nothing(
    rig: Rig, replica: type[NatsEventLog]
) -> None:
    await rig.provision()
    first = await rig.publish(asked())
    last = await rig.publish(following("gateway", QuestionWithdrawn(by="tester"), first))
    log, lagging = NatsEventLog(lambda: rig.client), replica(lambda: rig.client)

    history = await lagging.history(first.correlation_id)
    ending = await lagging.ending(first.correlation_id)

    assert [one.decode() for one in history] == [first, last]
    assert history == await log.history(first.correlation_id)
    assert ending is not None
    assert ending == await log.ending(first.correlation_id)
    assert ending.decode() == last


async def test_a_question_that_the_leader_does_not_have_either_has_no_events(rig: Rig) -> None:
    await rig.provision()
    await rig.publish(asked())
    lagging = LaggingLog(lambda: rig.client)

    assert await lagging.history("0" * 32) == []
    assert await lagging.ending("0" * 32) is None
