"""The `retrieval` section of a pipeline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic import Field, model_validator

from services.retrieval.indexing.extraction.settings import ExtractionSettings
from services.retrieval.query_rewriting.settings import UnderstandingSettings
from services.retrieval.rankers.acronyms import AcronymSettings
from services.retrieval.rankers.categories import CategorySettings
from services.retrieval.rankers.departments import DepartmentSettings
from services.retrieval.rankers.feedback import FeedbackSettings
from services.retrieval.rankers.progression import ProgressionSettings
from services.retrieval.rankers.prompts import SOURCES
from services.retrieval.rankers.recency import RecencySettings
from services.retrieval.rankers.reranking import RerankingSettings
from services.retrieval.rankers.scenarios import ScenarioSettings
from services.retrieval.rankers.sources import SourceSettings
from services.retrieval.semantic_cache.settings import SimilarSettings
from shared.contracts.errors import NotFoundError
from shared.contracts.pipelines import PromptedSection, Sections
from shared.runtime.context import StageContext

RETRIEVERS = ("bm25", "dense", "graph", "web")


class IndexSettings(SourceSettings):
    """How much of the chosen sources is loaded."""

    chooser: Literal["rules", "model"] = Field(
        default="rules",
        description="Who chooses: `rules` by the rarest words shared, or the `model` that plays `fast`, and the rules "
        "where it fails.",
    )
    model_seconds: float = Field(default=5.0, gt=0, description="The model is not waited for longer.")
    prompt: str = Field(default=SOURCES, min_length=1, description="What the model is told.")
    max_chars: int = Field(
        default=16_000, ge=200, le=24_000, description="All together at most this long; the best one is cut to it."
    )


class RetrievalSettings(PromptedSection):
    """How passages are looked for and how documents are cut."""

    understanding: UnderstandingSettings = Field(
        default_factory=UnderstandingSettings, description="What is done to a question before it is searched for."
    )
    strategy: Literal["search", "index"] = Field(
        default="search",
        description="`search` asks the retrievers for passages; `index` chooses sources by their lines in the index of "
        "sources and takes them whole, or asks the retrievers where none fits.",
    )
    index: IndexSettings = Field(default_factory=IndexSettings, description="How sources are chosen by their index.")
    passages: int = Field(default=6, ge=1, le=20, description="How many passages an answer is written from, at most.")
    earlier_passages: int = Field(
        default=2,
        ge=0,
        le=5,
        description="So many passages that the turn before cited are added where they still serve; 0: none.",
    )
    per_source: int = Field(default=3, ge=1, description="How many of them may come from one document.")
    candidates: int = Field(default=100, ge=1, le=1000, description="How many every retriever fetches to choose from.")
    max_passage_chars: int = Field(
        default=2400, ge=100, le=8000, description="A longer passage is cut at the end of a sentence, in characters."
    )
    duplicate_share: float = Field(
        default=0.9, gt=0, le=1, description="Two passages sharing this share of their words are the same one."
    )
    retrievers: tuple[Literal["bm25", "dense", "graph", "web"], ...] = Field(
        default=("bm25", "dense", "graph"),
        min_length=1,
        description="How passages are found: by words, by meaning (where embeddings are configured), by links, and "
        "by a search engine of the web, which is told the question (`web`, never by default).",
    )
    fusion: Literal["scores", "ranks"] = Field(
        default="scores", description="How words and meaning become one ranking: `ranks` is reciprocal rank fusion."
    )
    bm25_seconds: float = Field(default=2.0, gt=0, description="The search by words is given up after this long.")
    dense_seconds: float = Field(default=1.5, gt=0, description="The search by meaning is left out after this long.")
    graph_seconds: float = Field(default=0.5, gt=0, description="The walk along links is left out after this long.")
    web_seconds: float = Field(default=3.0, gt=0, description="The search of the web is left out after this long.")
    web_results: int = Field(default=5, ge=1, le=10, description="How many results of the web are taken.")
    web_weight: float = Field(
        default=0.5, gt=0, le=1, description="What a result of the web weighs beside what the documents give (1)."
    )
    index_seconds: float = Field(default=2.0, gt=0, description="Sources are searched instead after this long.")
    collections: tuple[str, ...] = Field(default=(), description="Search these collections only; empty: all.")
    acronyms: AcronymSettings = Field(default_factory=AcronymSettings, description="Acronyms and what they mean.")
    categories: CategorySettings = Field(
        default_factory=CategorySettings, description="What questions are about, and which passages may answer them."
    )
    feedback: FeedbackSettings = Field(default_factory=FeedbackSettings, description="How much feedback counts.")
    recency: RecencySettings = Field(default_factory=RecencySettings, description="When the newer passage comes first.")
    reranking: RerankingSettings = Field(
        default_factory=RerankingSettings, description="What calls for a second look at the order of passages."
    )
    departments: DepartmentSettings = Field(
        default_factory=DepartmentSettings, description="Whose business questions are."
    )
    scenarios: ScenarioSettings = Field(
        default_factory=ScenarioSettings, description="Texts an answer must know beside the passages."
    )
    progression: ProgressionSettings | None = Field(
        default=None, description="Take a few passages first and more only when these do not cover the question."
    )
    similar: SimilarSettings = Field(
        default_factory=SimilarSettings,
        description="When the answer of an earlier question that asks the same is given again.",
    )
    extraction: ExtractionSettings = Field(
        default_factory=ExtractionSettings, description="Whether a model reads documents for the graph."
    )
    chunk_chars: int = Field(
        default=512, ge=100, le=8000, description="Documents are cut to about this many characters."
    )
    whole_chars: int = Field(
        default=2400,
        ge=0,
        description="A document without headings is one passage up to this long, and two up to twice as long.",
    )
    chunk_overlap: int = Field(
        default=50, ge=0, description="Whole sentences up to this many characters are repeated in the next passage."
    )

    @property
    def seconds(self) -> dict[str, float]:
        """The time each retriever has."""
        named = ((name, getattr(self, f"{name}_seconds")) for name in RETRIEVERS)
        return {name: float(seconds) for name, seconds in named}

    @property
    def seconds_to_choose(self) -> float:
        """The time that choosing sources and loading them has."""
        return self.index_seconds + (self.index.model_seconds if self.index.chooser == "model" else 0.0)

    @model_validator(mode="after")
    def _overlap_fits(self) -> RetrievalSettings:
        if self.chunk_overlap * 2 > self.chunk_chars:
            raise ValueError("chunk_overlap may be half of chunk_chars at most")
        return self


def settings_by_name(context: StageContext) -> Callable[[str], Awaitable[RetrievalSettings]]:
    """The settings of the pipeline of that name as it is now; an empty name is the default pipeline's."""
    sections = Sections(context.pipelines)

    async def settings(name: str) -> RetrievalSettings:
        name = name or context.settings.default_pipeline
        current = context.pipelines.current(name)
        if current is None:
            raise NotFoundError(f"no pipeline is called {name}; pipelines: {', '.join(context.pipelines.names())}")
        return await sections.section(current, "retrieval", RetrievalSettings)

    return settings
