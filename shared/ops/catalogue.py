"""All stages, built offline: what documents, durables and permissions are generated from."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn, cast

from shared.errors import UnavailableError
from shared.pipelines import Section
from shared.resources import FactSayer, Resources
from shared.settings import Settings
from shared.stage import Stage
from shared.stores.ports import KeyValue, ObjectStore
from shared.worker import Build

#: In flow order.
STAGES = ("gateway", "moderation", "translation", "retrieval", "answer", "verifier", "persistence")


class _Offline:
    """Stands in for every port; building a stage must not use one."""

    def key_value(self, bucket: str) -> KeyValue:
        return cast("KeyValue", self)

    def objects(self, bucket: str) -> ObjectStore:
        return cast("ObjectStore", self)

    def __getattr__(self, name: str) -> NoReturn:
        raise UnavailableError(f"a stage that was built offline used {name}")


def builder(name: str) -> Build:
    """The `build` function of a stage."""
    build: Build = import_module(f"services.{name}.app").build
    return build


def stages(settings: Settings | None = None) -> list[Stage]:
    """Every stage, in flow order, without a connection."""
    offline: Any = _Offline()
    resources = Resources(
        settings=settings or Settings(),
        stores=offline,
        speaker=offline,
        asker=offline,
        log=offline,
        pipelines=offline,
        facts=lambda _: cast("FactSayer", offline),
        overview=lambda: offline.overview(),
        oldest_waiting=lambda: offline.oldest_waiting(),
        is_connected=lambda: False,
    )
    return [builder(name)(resources) for name in STAGES]


def section_kinds() -> dict[str, type[Section] | None]:
    """The pipeline section type of every stage; None for a stage without one."""
    return {stage.name: stage.settings for stage in stages()}
