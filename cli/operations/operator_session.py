"""What a command needs to operate a platform, on connections of its own that end with the command.

`replay`, `import` and `inject` publish facts of every stage, under `bg.` (an injection also under `qa.`, if requested),
and pipelines for replays into the bucket `candidates`. If NATS has users, they log in as `injector`; all other commands
are the user `operator`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nats.aio.client import Client

from cli.host.catalogue import pipeline_sections
from cli.operations import bus
from shared.bus.dead_letters import NatsDeadLetters, NatsDeadLetterStore
from shared.bus.event_log import NatsEventLog
from shared.bus.operator_publisher import OperatorPublisher
from shared.bus.ports import DeadLetters, EventLog, FactPublisher
from shared.bus.stage_durables import NatsStageDurables
from shared.operations.dead_letters import DeadLetterManager
from shared.operations.replay import Replayer
from shared.operations.stage_control import StageControl
from shared.runtime.permissions import INJECTOR
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines

#: Seconds for one request to the dead letters.
TIMEOUT = 5.0


@dataclass(frozen=True)
class OperatorSession:
    """What a command needs to publish facts: a publisher, the event log and the pipelines."""

    facts: FactPublisher
    log: EventLog
    pipelines: NatsPipelines


@asynccontextmanager
async def operator_session(settings: Settings) -> AsyncIterator[OperatorSession]:
    """A session on its own connection.

    Raises:
        UnavailableError: NATS is unavailable or not provisioned.
    """
    async with bus.connected(settings, "replay", INJECTOR) as client, _pipelines(client) as pipelines:
        facts = OperatorPublisher(client.jetstream, settings.raw_ttl_seconds)
        yield OperatorSession(facts, NatsEventLog(lambda: client), pipelines)


@asynccontextmanager
async def open_replayer(settings: Settings) -> AsyncIterator[Replayer]:
    """A replayer on a session of its own.

    Raises:
        UnavailableError: NATS is unavailable or not provisioned.
    """
    async with operator_session(settings) as session:
        replayer = Replayer(session.log, session.facts, session.pipelines, pipeline_sections())
        await replayer.open()
        try:
            yield replayer
        finally:
            await replayer.close()


@asynccontextmanager
async def dead_letter_reader(settings: Settings) -> AsyncIterator[DeadLetters]:
    """A reader of the dead letters.

    Raises:
        UnavailableError: NATS is unavailable.
    """
    async with bus.connected(settings, "dead") as operator:
        yield NatsDeadLetters(lambda: operator.jetstream(timeout=TIMEOUT))


@asynccontextmanager
async def dead_letter_manager(settings: Settings) -> AsyncIterator[DeadLetterManager]:
    """A manager of the dead letters, with a second connection for facts: only the user `injector` may publish them.

    Raises:
        UnavailableError: NATS is unavailable or not provisioned.
    """
    async with (
        bus.connected(settings, "dead") as operator,
        bus.connected(settings, "dead-again", INJECTOR) as injector,
        _pipelines(operator) as pipelines,
    ):
        raw_ttl = settings.raw_ttl_seconds
        letters = NatsDeadLetterStore(lambda: operator.jetstream(timeout=TIMEOUT))
        facts = OperatorPublisher(injector.jetstream, raw_ttl)
        yield DeadLetterManager(letters, facts, pipelines, pipeline_sections(), raw_ttl)


@asynccontextmanager
async def stage_control(settings: Settings) -> AsyncIterator[StageControl]:
    """Control of the stages.

    Raises:
        UnavailableError: NATS is unavailable.
    """
    async with bus.connected(settings, "stages") as client:
        yield StageControl(NatsStageDurables(lambda: client))


@asynccontextmanager
async def _pipelines(client: Client) -> AsyncIterator[NatsPipelines]:
    pipelines = NatsPipelines(lambda: client.jetstream())
    await pipelines.open()
    try:
        yield pipelines
    finally:
        await pipelines.close()
