"""Parts of single stages that the lab measures or trains without the rest of the platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from cli.host.catalogue import offline_context
from services.gateway.routing.router import Router
from services.gateway.settings import GatewaySettings
from services.retrieval.query_rewriting.rewriter import QueryRewriter
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage, PipelineRef, Question
from shared.contracts.errors import PipelineError
from shared.contracts.pipelines import Pipeline
from shared.language.rules.sentence_choice import sentence_ranking
from shared.llm.none import NoModels


def statement_describer() -> Callable[[str, str, Sequence[Passage]], list[tuple[str, str, Mapping[str, float]]]]:
    """The function that describes the statements that may answer a question, as the extractive engine sees them.

    From the question, its language and the passages to the source, the text and the features of each statement, the
    most probable first.
    """

    def describe(
        question: str, language: str, passages: Sequence[Passage]
    ) -> list[tuple[str, str, Mapping[str, float]]]:
        ranked = sentence_ranking.read(question, language, passages).ranked
        return [
            (candidate.evidence.passage.source, candidate.statement.text, candidate.features) for candidate in ranked
        ]

    return describe


def statement_weights() -> tuple[Mapping[str, float], frozenset[str]]:
    """The weights of the features of a statement before any training, and the names of those that stay as they are."""
    return sentence_ranking.PRIOR, sentence_ranking.UNTRAINED


def question_router(
    pipeline: Pipeline,
) -> tuple[tuple[str, ...], Callable[[str], Awaitable[tuple[str, str, float]]]]:
    """The classes of a pipeline's routing, and a function that finds the class of a question without a model.

    From the question to the class (empty: none), what found it and the confidence.

    Raises:
        PipelineError: the gateway's section is invalid, or has no routing by phrases or examples.
    """
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
    section = pipeline.section("retrieval", RetrievalSettings)
    reader = QueryRewriter(NoModels())

    async def read(question: Question) -> str:
        understood = await reader.rewrite(question, section.query_rewriting)
        return str(understood.question)

    return read
