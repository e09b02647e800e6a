"""All stages, built offline: what documents, durables and permissions are generated from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, cast

from shared.domain import Question
from shared.errors import UnavailableError
from shared.log import EventLog
from shared.models.none import NoModels
from shared.pipelines import Pipeline, PipelineSource, Section
from shared.resources import FactSayer, Resources, Stores
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


def injection_trainer() -> Callable[[Sequence[str], Sequence[bool], Path], dict[str, Any]]:
    """What makes the moderation stage's classifier of injections: texts, which are attacks, the file to write."""
    train: Callable[[Sequence[str], Sequence[bool], Path], dict[str, Any]]
    train = import_module("services.moderation.training").train
    return train


def moderation_needs(pipeline: Pipeline) -> list[tuple[str, str, str]]:
    """What the moderation section needs of a worker's machine: setting, ok or warn or fail, what to do.

    Raises:
        PipelineError: the section does not hold.
    """
    section = pipeline.section("moderation", import_module("services.moderation.settings").ModerationSettings)
    return list(import_module("services.moderation.needs").needs(section))


def question_seconds(pipeline: Pipeline) -> float:
    """How long a question of this pipeline may take.

    Raises:
        PipelineError: the gateway's section does not hold.
    """
    section = pipeline.section("gateway", import_module("services.gateway.settings").GatewaySettings)
    return float(section.model_dump()["deadline_seconds"])


def question_reader(pipeline: Pipeline) -> Callable[[Question], Awaitable[str]]:
    """What makes a question of a conversation stand by itself, by rule, as the pipeline has it."""
    section = pipeline.section("retrieval", import_module("services.retrieval.settings").RetrievalSettings)
    reader = import_module("services.retrieval.understanding.reading").Understanding(NoModels())

    async def read(question: Question) -> str:
        understood = await reader.of(question, section.understanding)
        return str(understood.question)

    return read


def similar_trial(settings: Settings, pipeline: Pipeline, language: str) -> Any:
    """The retrieval stage's store of answered questions and its decision over them, for measuring."""
    return import_module("services.retrieval.similar.trial").Trial(settings, pipeline, language)


def offline_resources(
    settings: Settings | None = None,
    *,
    stores: Stores | None = None,
    pipelines: PipelineSource | None = None,
    log: EventLog | None = None,
) -> Resources:
    """What a stage can be built from without a connection; using a port that was not given is an error."""
    offline: Any = _Offline()
    return Resources(
        settings=settings or Settings(),
        stores=stores or offline,
        speaker=offline,
        asker=offline,
        log=log or offline,
        dead=offline,
        eraser=offline,
        pipelines=pipelines or offline,
        facts=lambda _: cast("FactSayer", offline),
        overview=lambda: offline.overview(),
        oldest_waiting=lambda: offline.oldest_waiting(),
        is_connected=lambda: False,
    )


def stages(settings: Settings | None = None) -> list[Stage]:
    """Every stage, in flow order, without a connection."""
    resources = offline_resources(settings)
    return [builder(name)(resources) for name in STAGES]


def section_kinds() -> dict[str, type[Section] | None]:
    """The pipeline section type of every stage; None for a stage without one."""
    return {stage.name: stage.settings for stage in stages()}
