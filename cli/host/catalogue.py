"""All stages, built without a connection: the source of generated pages, durable consumers and permissions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from shared.bus.ports import EventLog, FactPublisher
from shared.contracts.domain import Passage, PipelineRef, Question
from shared.contracts.errors import PipelineError, UnavailableError
from shared.contracts.facts import stage_names
from shared.contracts.pipelines import Pipeline, PipelineSource, Section
from shared.contracts.stage import Stage
from shared.llm.none import NoModels
from shared.llm.ports import Models
from shared.operations.sections import KnownSections
from shared.runtime.context import StageContext, Stores
from shared.runtime.settings import Settings
from shared.stores.ports import KeyValue, ObjectStore, SignalPublisher

if TYPE_CHECKING:
    from shared.runtime.worker import Build

#: Every stage, in flow order.
STAGES: tuple[str, ...] = stage_names()


class _Offline:
    """Placeholder for every port; a stage must not use one while it is built."""

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
    """The function that trains the moderation stage's classifier: it takes texts, labels (attack or not), a file."""
    from services.moderation.classifier_training import train

    return train


def statement_describer() -> Callable[[str, str, Sequence[Passage]], list[tuple[str, str, Mapping[str, float]]]]:
    """The function that describes the statements that may answer a question, as the extractive engine sees them.

    From the question, its language and the passages to the source, the text and the features of each statement, the
    most probable first.
    """
    from services.answer.engines.sentence_ranking import read

    def describe(
        question: str, language: str, passages: Sequence[Passage]
    ) -> list[tuple[str, str, Mapping[str, float]]]:
        ranked = read(question, language, passages).ranked
        return [(one.evidence.passage.source, one.statement.text, one.features) for one in ranked]

    return describe


def statement_weights() -> tuple[Mapping[str, float], frozenset[str]]:
    """The weights of the features of a statement before any training, and the names of those that stay as they are."""
    from services.answer.engines.sentence_ranking import PRIOR, UNTRAINED

    return PRIOR, UNTRAINED


def moderation_needs(pipeline: Pipeline) -> list[tuple[str, str, str]]:
    """What the moderation section requires of the machine, as (setting, verdict, what to do).

    The verdict is ok, warn or fail.

    Raises:
        PipelineError: the section is invalid.
    """
    from services.moderation.requirements import needs
    from services.moderation.settings import ModerationSettings

    return list(needs(pipeline.section("moderation", ModerationSettings)))


def question_router(
    pipeline: Pipeline,
) -> tuple[tuple[str, ...], Callable[[str], Awaitable[tuple[str, str, float]]]]:
    """The classes of a pipeline's routing, and a function that finds the class of a question without a model.

    From the question to the class (empty: none), what found it and the confidence.

    Raises:
        PipelineError: the gateway's section is invalid, or has no routing by phrases or examples.
    """
    from services.gateway.routing.router import Router
    from services.gateway.settings import GatewaySettings

    routing = pipeline.section("gateway", GatewaySettings).routing
    steps = tuple(step for step in routing.by if step != "model") if routing else ()
    if routing is None or not steps:
        raise PipelineError(f"pipeline {pipeline.name}: gateway.routing: there are no phrases or examples to route by")
    without_model = routing.model_copy(update={"by": steps})
    router = Router(offline_context().requests)
    entry = PipelineRef(name=pipeline.name, revision=1)

    async def route(text: str) -> tuple[str, str, float]:
        found = (await router.decide(text, entry, without_model)).route
        return found.question_class, found.by, found.confidence

    return tuple(routing.classes), route


def question_reader(pipeline: Pipeline) -> Callable[[Question], Awaitable[str]]:
    """A function that rewrites a follow-up as a standalone question, by rule, with the pipeline's settings."""
    from services.retrieval.query_rewriting.rewriter import QueryRewriter
    from services.retrieval.settings import RetrievalSettings

    section = pipeline.section("retrieval", RetrievalSettings)
    reader = QueryRewriter(NoModels())

    async def read(question: Question) -> str:
        understood = await reader.rewrite(question, section.query_rewriting)
        return str(understood.question)

    return read


def semantic_cache_trial(settings: Settings, pipeline: Pipeline, language: str, models: Models | None = None) -> Any:
    """The retrieval stage's semantic cache, opened for measurements; `models` confirm its matches on demand."""
    from services.retrieval.semantic_cache.trial import SemanticCacheTrial

    return SemanticCacheTrial(settings, pipeline, language, models)


def offline_context(
    settings: Settings | None = None,
    *,
    stores: Stores | None = None,
    pipelines: PipelineSource | None = None,
    log: EventLog | None = None,
    signals: SignalPublisher | None = None,
) -> StageContext:
    """A context to build a stage without a connection; using a port that was not given raises `UnavailableError`."""
    offline: Any = _Offline()
    return StageContext(
        settings=settings or Settings(),
        stores=stores or offline,
        signals=signals or offline,
        requests=offline,
        log=log or offline,
        dead=offline,
        eraser=offline,
        pipelines=pipelines or offline,
        facts=lambda _: cast("FactPublisher", offline),
        overview=lambda: offline.overview(),
        oldest_waiting=lambda: offline.oldest_waiting(),
        stages_not_ready=lambda: offline.stages_not_ready(),
        is_connected=lambda: False,
    )


def stages(settings: Settings | None = None) -> list[Stage]:
    """Every stage, in flow order, without a connection."""
    context = offline_context(settings)
    return [builder(name)(context) for name in STAGES]


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of the gateway's routes, whatever the environment variables are."""
    from services.gateway.http_server import HttpServer

    (gateway,) = (stage for stage in stages(Settings.model_construct()) if stage.name == "gateway")
    (server,) = (port for port in gateway.ports if isinstance(port, HttpServer))
    return server.openapi()


def section_kinds() -> dict[str, type[Section] | None]:
    """The pipeline section type of every stage; None for a stage without one."""
    return {stage.name: stage.settings for stage in stages()}


def pipeline_sections() -> KnownSections:
    """What checks the sections of a pipeline in a command; the stages are built when the first one is checked."""
    return KnownSections(section_kinds)
