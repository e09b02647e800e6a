"""What the routes share: the use cases and the ports, kept on the FastAPI application."""

from __future__ import annotations

from dataclasses import dataclass

from services.gateway.access.anonymous_sessions import AnonymousSessions
from services.gateway.access.auth import Authenticator, Tokens
from services.gateway.access.issuer_metadata import IssuerMetadata
from services.gateway.access.mcp_sessions import McpSessions
from services.gateway.access.stream_ticket import StreamTickets
from services.gateway.asking.erasure import ErasureService
from services.gateway.asking.question_ids import QuestionIds
from services.gateway.asking.question_service import QuestionService
from services.gateway.crawling.crawls import Crawls
from services.gateway.limits.admission import Admission
from services.gateway.limits.rate_limits import RateLimits
from services.gateway.limits.read_limit import ReadLimit
from services.gateway.limits.stream_limit import StreamLimit
from services.gateway.operators.operations import GatewayOperations
from services.gateway.operators.question_board import QuestionBoard
from services.gateway.operators.stage_figures import FigureReader
from services.gateway.operators.stage_health import StageHealth
from services.gateway.streaming.confirmed_log import ConfirmedLog
from services.gateway.streaming.stream import LiveFeed
from shared.contracts.subjects import (
    ANSWERS_BUCKET,
    CRAWLS_BUCKET,
    DOCUMENTS_BUCKET,
    LIMITS_BUCKET,
    SECRETS_BUCKET,
    SESSIONS_BUCKET,
    SIGNERS_BUCKET,
    TICKETS_BUCKET,
)
from shared.runtime.answer_signatures import AnswerSignatures
from shared.runtime.context import StageContext
from shared.runtime.settings import Settings


@dataclass(frozen=True)
class Gateway:
    context: StageContext
    questions: QuestionService
    feed: LiveFeed
    authenticator: Authenticator
    admission: Admission
    stage_health: StageHealth
    streams: StreamLimit
    limits: RateLimits
    reads: ReadLimit
    sessions: AnonymousSessions
    tickets: StreamTickets
    mcp_sessions: McpSessions
    operations: GatewayOperations
    board: QuestionBoard
    login: IssuerMetadata
    figures: FigureReader
    crawls: Crawls

    @property
    def erasures(self) -> ErasureService:
        context = self.context
        return ErasureService(context.settings, context.pipelines, context.facts("gateway"), context.log, self.feed)


def gateway_of(context: StageContext) -> Gateway:
    """The use cases and ports of the HTTP layer over a worker's context."""
    limits = RateLimits(context.settings, context.stores.key_value(LIMITS_BUCKET))
    admission = Admission(
        context.live_backlog, context.settings.admission_seconds, while_paused=context.settings.while_paused
    )
    secrets = context.stores.key_value(SECRETS_BUCKET)
    notes = context.stores.key_value(TICKETS_BUCKET)
    event_log = ConfirmedLog(context.log, AnswerSignatures(context.stores.key_value(SIGNERS_BUCKET)))
    feed = LiveFeed(event_log, on_ending=limits.ended)
    sessions = AnonymousSessions(context.settings, secrets)
    questions = QuestionService(
        settings=context.settings,
        pipelines=context.pipelines,
        facts=context.facts("gateway"),
        event_log=event_log,
        feed=feed,
        sessions=context.stores.key_value(SESSIONS_BUCKET),
        requests=context.requests,
        bodies=context.stores.objects(DOCUMENTS_BUCKET),
        answers=context.stores.key_value(ANSWERS_BUCKET),
        admit=admission.check,
        limits=limits,
        ids=QuestionIds(context.settings, secrets),
    )
    return Gateway(
        context=context,
        questions=questions,
        feed=feed,
        authenticator=Authenticator(context.settings, _tokens(context.settings), sessions),
        admission=admission,
        stage_health=StageHealth(context.stages_not_ready, context.bus_fault),
        streams=StreamLimit(context.settings.streams_per_key),
        limits=limits,
        reads=ReadLimit(context.settings.rate_reads_per_minute),
        sessions=sessions,
        tickets=StreamTickets(notes),
        mcp_sessions=McpSessions(secrets, notes),
        operations=GatewayOperations(context),
        board=QuestionBoard(feed, event_log, context.pipelines),
        login=IssuerMetadata(context.settings),
        figures=FigureReader(context.overview),
        crawls=Crawls(context.settings, context.stores.key_value(CRAWLS_BUCKET), questions),
    )


def _tokens(settings: Settings) -> Tokens | None:
    """The verifier of tokens, where an issuer is configured."""
    if not settings.oidc_issuer:
        return None
    from services.gateway.access.oidc import TokenVerifier

    return TokenVerifier(settings)
