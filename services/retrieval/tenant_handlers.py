"""Passes each fact and request to the retrieval of its tenant; `register` is the list of what the stage handles."""

from __future__ import annotations

from collections.abc import Mapping

from services.retrieval.semantic_cache.lookup import KEPT_AT_ONCE
from services.retrieval.settings import RetrievalSettings
from services.retrieval.tenant_retrieval import TenantRetrieval
from shared.contracts.envelope import Envelope
from shared.contracts.errors import PermanentError, RefusedError
from shared.contracts.facts import (
    AnswerRefuted,
    AnswerReused,
    ClarificationRequested,
    DocumentIndexed,
    DocumentRefused,
    DocumentSubmitted,
    ExchangeRecorded,
    FeedbackGiven,
    PassagesRetrieved,
    QuestionCleared,
    QuestionsForgotten,
)
from shared.contracts.requests.retrieval import (
    DocumentReply,
    DocumentRequest,
    DocumentsReply,
    DocumentsRequest,
    EmbedReply,
    EmbedRequest,
    GraphEntitiesReply,
    GraphEntitiesRequest,
    GraphEntityReply,
    GraphEntityRequest,
    IndexStatsReply,
    IndexStatsRequest,
    ReindexReply,
    ReindexRequest,
    RemoveReply,
    RemoveRequest,
    SearchReply,
    SearchRequest,
    SourceIndexReply,
    SourceIndexRequest,
    VectorsReply,
    VectorsRequest,
)
from shared.contracts.stage import DeliveryCount, Stage


def register(stage: Stage, facts: TenantFacts, requests: TenantRequests) -> None:
    """Every handler of the stage; its annotations name the facts that it consumes and publishes."""
    stage.on(facts.retrieve)
    stage.on(facts.retry)
    stage.on(facts.index)
    stage.on(facts.record)
    stage.on(facts.forget)
    stage.on(facts.keep, concurrency=KEPT_AT_ONCE)

    stage.on_request(requests.search)
    stage.on_request(requests.documents)
    stage.on_request(requests.document)
    stage.on_request(requests.remove)
    stage.on_request(requests.embed)
    stage.on_request(requests.reindex)
    stage.on_request(requests.stats)
    stage.on_request(requests.source_index)
    stage.on_request(requests.graph_entities)
    stage.on_request(requests.graph_entity)
    stage.on_request(requests.vectors)


class TenantFacts:
    """Handles facts in the tenant of their envelope.

    Every method raises `PermanentError` for a tenant that the platform does not have: it must not be taken for another.
    """

    def __init__(self, tenants: Mapping[str, TenantRetrieval]) -> None:
        self._tenants = tenants

    async def retrieve(
        self, cleared: QuestionCleared, envelope: Envelope, settings: RetrievalSettings
    ) -> PassagesRetrieved | ClarificationRequested | AnswerReused:
        """See `QuestionHandler.retrieve`."""
        return await self._of(envelope).questions.retrieve(cleared, envelope, settings)

    async def retry(self, refuted: AnswerRefuted, envelope: Envelope, settings: RetrievalSettings) -> PassagesRetrieved:
        """See `QuestionHandler.retry`."""
        return await self._of(envelope).questions.retry(refuted, envelope, settings)

    async def index(
        self,
        submitted: DocumentSubmitted,
        envelope: Envelope,
        settings: RetrievalSettings,
        deliveries: DeliveryCount,
    ) -> DocumentIndexed | DocumentRefused:
        """See `SubmissionHandler.index`."""
        return await self._of(envelope).submissions.index(submitted, envelope, settings, deliveries)

    async def record(self, given: FeedbackGiven, envelope: Envelope, settings: RetrievalSettings) -> None:
        """See `FeedbackHandler.record`."""
        await self._of(envelope).feedback.record(given, envelope, settings)

    async def forget(self, forgotten: QuestionsForgotten, envelope: Envelope) -> None:
        """See `FeedbackHandler.forget`."""
        await self._of(envelope).feedback.forget(forgotten, envelope)

    async def keep(self, recorded: ExchangeRecorded, envelope: Envelope, settings: RetrievalSettings) -> None:
        """See `CacheLookup.keep`: the question of an answer that may be reused."""
        await self._of(envelope).semantic_cache.keep(recorded, envelope, settings)

    def _of(self, envelope: Envelope) -> TenantRetrieval:
        found = self._tenants.get(envelope.tenant)
        if found is None:
            raise PermanentError("the event is of a tenant that this platform does not have", kind="unknown_tenant")
        return found


class TenantRequests:
    """Replies to requests from the stores of their tenant.

    Every method raises `RefusedError` for a tenant that the platform does not have.
    """

    def __init__(self, tenants: Mapping[str, TenantRetrieval]) -> None:
        self._tenants = tenants

    async def search(self, request: SearchRequest) -> SearchReply:
        """See `QuestionHandler.search`."""
        return await self._of(request.tenant).questions.search(request)

    async def documents(self, request: DocumentsRequest) -> DocumentsReply:
        """See `DocumentHandler.documents`."""
        return await self._of(request.tenant).documents.documents(request)

    async def document(self, request: DocumentRequest) -> DocumentReply:
        """See `DocumentHandler.document`."""
        return await self._of(request.tenant).documents.document(request)

    async def remove(self, request: RemoveRequest) -> RemoveReply:
        """See `DocumentHandler.remove`."""
        return await self._of(request.tenant).documents.remove(request)

    async def embed(self, request: EmbedRequest) -> EmbedReply:
        """See `DocumentHandler.embed`."""
        return await self._of(request.tenant).documents.embed(request)

    async def reindex(self, request: ReindexRequest) -> ReindexReply:
        """See `ModelChangeHandler.reindex`."""
        return await self._of(request.tenant).model_change.reindex(request)

    async def vectors(self, request: VectorsRequest) -> VectorsReply:
        """See `VectorHandler.vectors`."""
        return await self._of(request.tenant).vectors.vectors(request)

    async def stats(self, request: IndexStatsRequest) -> IndexStatsReply:
        """See `DocumentHandler.stats`."""
        return await self._of(request.tenant).documents.stats(request)

    async def source_index(self, request: SourceIndexRequest) -> SourceIndexReply:
        """See `DocumentHandler.source_index`."""
        return await self._of(request.tenant).documents.source_index(request)

    async def graph_entities(self, request: GraphEntitiesRequest) -> GraphEntitiesReply:
        """See `GraphHandler.entities`."""
        return await self._of(request.tenant).graph.entities(request)

    async def graph_entity(self, request: GraphEntityRequest) -> GraphEntityReply:
        """See `GraphHandler.entity`."""
        return await self._of(request.tenant).graph.entity(request)

    def _of(self, tenant: str) -> TenantRetrieval:
        found = self._tenants.get(tenant)
        if found is None:
            raise RefusedError(f"there is no tenant {tenant[:63]!r} on this platform; name it in ANSWERBUS_TENANTS")
        return found
