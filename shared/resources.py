"""What the platform lends a stage: process settings and ports. A stage's `build(resources)` picks what it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from shared.dead import DeadLetters
from shared.envelope import Event
from shared.erasure import Eraser
from shared.facts import Fact
from shared.log import EventLog
from shared.models.none import NoModels
from shared.models.ports import Models
from shared.overview import StageReport
from shared.pipelines import PipelineSource
from shared.settings import Settings
from shared.stores.ports import Asker, KeyValue, ObjectStore, Speaker


class Stores(Protocol):
    """Hands out stores by role; they connect on first use, so that building a stage does no I/O."""

    def key_value(self, bucket: str) -> KeyValue: ...

    def objects(self, bucket: str) -> ObjectStore: ...


class Said(Enum):
    """What became of a fact."""

    NEW = "new"
    #: The broker had it already: an earlier try of the same work got through.
    DUPLICATE = "duplicate"
    #: Another ending (or, for a first fact, another question under the same id) came first; this one is dropped.
    LOST = "lost"


class FactSayer(Protocol):
    """Says facts on a client's behalf."""

    async def say(self, event: Event[Fact], *, first: bool = False) -> Said:
        """Store the event; with `first` only when nothing is known of its question.

        Raises:
            UnavailableError: the bus did not store it in time.
            RefusedError: the bus never will.
        """


@dataclass(frozen=True)
class Resources:
    """Everything a stage may use beside the fact in its hand.

    `facts(stage)` hands out a sayer; only a stage that speaks for clients needs one, the others return their facts.
    `overview()` is the state of every stage, `oldest_waiting()` the age of its backlog in seconds, `is_connected()`
    whether the bus is there. `models` play the roles that steps ask for.
    """

    settings: Settings
    stores: Stores
    speaker: Speaker
    asker: Asker
    log: EventLog
    dead: DeadLetters
    eraser: Eraser
    pipelines: PipelineSource
    facts: Callable[[str], FactSayer]
    overview: Callable[[], Awaitable[list[StageReport]]]
    oldest_waiting: Callable[[], Awaitable[float]]
    is_connected: Callable[[], bool]
    models: Models = field(default_factory=NoModels)
