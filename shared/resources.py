"""What the platform lends a stage: process settings and ports. A stage's `build(resources)` picks what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shared.settings import Settings
from shared.stores.ports import Asker, KeyValue, ObjectStore, Speaker


class Stores(Protocol):
    """Hands out stores by role; they connect on first use, so that building a stage does no I/O."""

    def key_value(self, bucket: str) -> KeyValue: ...

    def objects(self, bucket: str) -> ObjectStore: ...


@dataclass(frozen=True)
class Resources:
    """Everything a stage may use beside the fact in its hand."""

    settings: Settings
    stores: Stores
    speaker: Speaker
    asker: Asker
