"""What the platform lends a stage: process settings and ports. A stage's `build(resources)` picks what it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from shared.bus.ports import DeadLetters, Eraser, EventLog, FactPublisher
from shared.contracts.pipelines import PipelineSource
from shared.contracts.requests.request import RequestClient
from shared.llm.none import NoModels
from shared.llm.ports import Models
from shared.observability.worker_status import StageReport
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue, ObjectStore, SignalPublisher


class Stores(Protocol):
    """Hands out stores by role; they connect on first use, so that building a stage does no I/O."""

    def key_value(self, bucket: str) -> KeyValue: ...

    def objects(self, bucket: str) -> ObjectStore: ...


@dataclass(frozen=True)
class StageContext:
    """Everything a stage may use beside the fact in its hand.

    `facts(stage)` hands out a sayer; only a stage that speaks for clients needs one, the others return their facts.
    `overview()` is the state of every stage, `oldest_waiting()` the age of its backlog in seconds, `is_connected()`
    whether the bus is there. `models` play the roles that steps ask for.
    """

    settings: Settings
    stores: Stores
    signals: SignalPublisher
    requests: RequestClient
    log: EventLog
    dead: DeadLetters
    eraser: Eraser
    pipelines: PipelineSource
    facts: Callable[[str], FactPublisher]
    overview: Callable[[], Awaitable[list[StageReport]]]
    oldest_waiting: Callable[[], Awaitable[float]]
    is_connected: Callable[[], bool]
    models: Models = field(default_factory=NoModels)
