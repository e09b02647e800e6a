"""Wiring of the retrieval stage."""

from __future__ import annotations

from collections.abc import Sequence

from services.retrieval.embeddings import create_embeddings
from services.retrieval.feedback_store import FeedbackRecorder, FeedbackStore
from services.retrieval.graph import create_graph
from services.retrieval.handler import (
    DocumentHandler,
    FeedbackHandler,
    SubmissionHandler,
    VectorCheck,
    VectorHandler,
    register,
)
from services.retrieval.index_fingerprint import create_fingerprint
from services.retrieval.index_generation import IndexGeneration
from services.retrieval.indexing.document_indexer import DocumentIndexer
from services.retrieval.indexing.extraction.cache import ExtractionCache
from services.retrieval.indexing.extraction.extractor import EntityExtractor
from services.retrieval.indexing.reader_process import ReaderProcesses
from services.retrieval.retrievers.web import create_web_search
from services.retrieval.search_factory import create_question_handler, create_searcher
from services.retrieval.semantic_cache.lookup import lookup_of
from services.retrieval.settings import RetrievalSettings
from services.retrieval.stores import create_vector_index
from shared.contracts.domain import Lane
from shared.contracts.facts import FeedbackGiven
from shared.contracts.requests.persistence import ConversationRequest, ExchangeRequest
from shared.contracts.stage import Access, Stage
from shared.contracts.subjects import ANSWERS_BUCKET, DOCUMENTS_BUCKET, consume_filter, live
from shared.runtime.context import StageContext

ACCESS = Access(
    keeps=(ANSWERS_BUCKET,),
    objects=(DOCUMENTS_BUCKET,),
    asks=(ExchangeRequest, ConversationRequest),
    follows=tuple(live(consume_filter(FeedbackGiven, lane)) for lane in Lane),
)


def build(context: StageContext) -> Stage:
    stage = Stage("retrieval", settings=RetrievalSettings, access=ACCESS)
    settings, folder = context.settings, context.settings.data_dir / "retrieval"
    index, graph, web = create_vector_index(settings), create_graph(settings), create_web_search(settings)
    embeddings = create_embeddings(settings)
    feedback = FeedbackRecorder(FeedbackStore(folder / "votes.db"), context.log)
    extractions, cache = ExtractionCache(folder / "extraction.sqlite"), lookup_of(context, index, embeddings)
    fingerprint = create_fingerprint(settings, index, embeddings.name if embeddings else "")
    answers, reader = context.stores.key_value(ANSWERS_BUCKET), ReaderProcesses(settings)
    generation = IndexGeneration(answers, fingerprint)
    for port in (index, graph, web, embeddings, feedback, extractions, cache, generation, reader):
        if port is not None:
            stage.opens(port)
    objects, extraction = context.stores.objects(DOCUMENTS_BUCKET), EntityExtractor(context.models, extractions)

    async def forget(sources: Sequence[str]) -> None:
        feedback.forget_sources(sources)
        await cache.forget_sources(sources)

    indexer = DocumentIndexer(
        index, objects, reader, embeddings=embeddings, graph=graph, extraction=extraction, forget=forget
    )
    searcher = create_searcher(index, graph, web, embeddings, feedback.votes, context.models)
    questions = create_question_handler(context, searcher, cache, index)
    documents = DocumentHandler(indexer, generation, index, embeddings)
    stage.opens(VectorCheck(documents))
    submissions = SubmissionHandler(documents, answers)
    register(
        stage, questions, submissions, documents, FeedbackHandler(feedback, cache), cache, VectorHandler(embeddings)
    )
    return stage


if __name__ == "__main__":
    from shared.runtime.worker import run

    run(build)
