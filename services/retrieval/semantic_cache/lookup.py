"""Looking for similar questions as the handlers do it: with their facts and the settings of their pipeline."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.ports import VectorIndex
from services.retrieval.semantic_cache.cache import Looked, SimilarAnswers
from services.retrieval.semantic_cache.pending_deletion import Leftovers
from services.retrieval.semantic_cache.question_store import AskedQuestions
from services.retrieval.settings import RetrievalSettings
from services.retrieval.stores import create_vector_index
from shared.contracts.domain import Question
from shared.contracts.envelope import Envelope
from shared.contracts.facts import ExchangeRecorded, FeedbackGiven, QuestionCleared
from shared.contracts.requests.retrieval import SearchRequest
from shared.runtime.context import StageContext
from shared.text.analysis import guess_language
from shared.text.languages import UNKNOWN

log = structlog.get_logger()

#: The index of questions, beside that of the documents.
ASKED = "asked"
#: Questions kept at once by a worker: few, as live questions are waiting for the same index.
KEPT_AT_ONCE = 4
#: Forgotten questions that are remembered to have been.
LATEST = 10_000


class SimilarLookup:
    """Gives `SimilarAnswers` what it needs of an event, or of a search; a port of the stage."""

    def __init__(
        self, asked: AskedQuestions, similar: SimilarAnswers, context: StageContext, leftovers: Leftovers
    ) -> None:
        self._asked = asked
        self._leftovers = leftovers
        #: The latest that were forgotten: the word that one is on record may be heard after that.
        self._forgotten: OrderedDict[str, None] = OrderedDict()
        self._similar = similar
        self._context = context

    async def open(self) -> None:
        if await asyncio.to_thread(self._leftovers.remove):
            log.info("the index of questions begins anew, as some were to be forgotten")
        await self._asked.open()

    async def close(self) -> None:
        await self._asked.close()

    async def of_question(self, cleared: QuestionCleared, envelope: Envelope, settings: RetrievalSettings) -> Looked:
        """The answer that serves a question of an asker."""
        return await self._similar.look(
            cleared.question,
            settings.similar,
            tenant=envelope.tenant,
            pipeline=envelope.pipeline,
            lane=envelope.lane,
            introduction=settings.project_introduction,
        )

    async def of_search(self, request: SearchRequest, settings: RetrievalSettings) -> Looked:
        """What a question of these words would have got."""
        here = self._context.settings
        pipeline = self._context.pipelines.current(request.pipeline or here.default_pipeline)
        if pipeline is None:
            return Looked()
        language = request.language if request.language != UNKNOWN else guess_language(request.query)
        question = Question(text=request.query, language=language)
        return await self._similar.look(
            question,
            settings.similar,
            tenant=here.tenant,
            pipeline=pipeline,
            introduction=settings.project_introduction,
        )

    async def keep(self, recorded: ExchangeRecorded, envelope: Envelope, settings: RetrievalSettings) -> None:
        """Keep an answered question that may serve others."""
        if envelope.correlation_id in self._forgotten:
            return
        await self._similar.keep(recorded, envelope, settings.similar)

    async def dispute(self, given: FeedbackGiven, envelope: Envelope, settings: RetrievalSettings) -> None:
        """Take out an answer that was disliked."""
        await self._similar.dispute(given, envelope, settings.similar)

    async def forget(self, questions: Sequence[str]) -> None:
        """Let go of these questions, by their ids: at once, and off the disk when the worker next starts.

        Raises:
            TransientError: the store is away.
        """
        self._forgotten.update(dict.fromkeys(questions))
        while len(self._forgotten) > LATEST:
            self._forgotten.popitem(last=False)
        if not self._leftovers.empty and await self._similar.forget(questions):
            self._leftovers.note()


def lookup_of(context: StageContext, index: VectorIndex, embeddings: Embeddings | None) -> SimilarLookup:
    """The lookup, with an index of questions of its own; `index` is that of the documents."""
    index_of_questions = create_vector_index(context.settings, ASKED)
    asked = AskedQuestions(index_of_questions, embeddings)
    folder = None if index_of_questions.shared else context.settings.data_dir / "retrieval" / ASKED
    similar = SimilarAnswers(asked, index, context.requests, context.models)
    return SimilarLookup(asked, similar, context, Leftovers(folder))
