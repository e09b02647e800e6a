"""What a worker tells about itself: JSON logs bound to the question, Prometheus metrics, optional traces.

Labels are names of stages, facts and outcomes, never ids or subjects, so the number of series stays fixed.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, Literal

import structlog
from prometheus_client import Counter, Gauge, Histogram

from shared.contracts.errors import AnswerbusError

#: Seconds; from a cached reply to a slow model.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

WORKED = Histogram(
    "answerbus_stage_seconds", "Time a stage worked on a fact", ["stage", "fact", "outcome"], buckets=BUCKETS
)
WAITED = Histogram("answerbus_stage_wait_seconds", "Time a fact waited on the bus", ["stage", "fact"], buckets=BUCKETS)
IN_FLIGHT = Gauge("answerbus_stage_in_flight", "Facts in work", ["stage"])
REDELIVERED = Counter("answerbus_redelivered_total", "Facts delivered again", ["stage", "fact"])
DROPPED = Counter("answerbus_dropped_total", "Facts acknowledged without work", ["stage", "reason"])
FAILURES = Counter("answerbus_stage_failures_total", "Failed tries", ["stage", "kind"])
DEAD_LETTERS = Counter("answerbus_dead_letters_total", "Events that went to dead letters", ["stage", "kind"])
PUBLISH_RETRIES = Counter("answerbus_publish_retries_total", "Publishes tried again", ["stage"])
REFUSED = Counter("answerbus_questions_refused_total", "Questions refused because of the backlog")
PULLS_LOST = Counter("answerbus_pulls_lost_total", "Requests for events that were never answered", ["durable"])
DUPLICATES = Counter("answerbus_publish_duplicates_total", "Facts the broker already had", ["stage"])
ENDINGS_REJECTED = Counter("answerbus_endings_rejected_total", "Terminal facts rejected: another was first", ["stage"])
MODEL_CALLS = Counter("answerbus_model_calls_total", "Tries at a model", ["role", "step", "endpoint", "outcome"])
MODEL_SECONDS = Histogram(
    "answerbus_model_seconds", "Time of a try at a model", ["role", "step", "endpoint"], buckets=BUCKETS
)
MODEL_FIRST_TOKEN = Histogram(
    "answerbus_model_first_token_seconds", "Time to the first token", ["role", "step", "endpoint"], buckets=BUCKETS
)
MODEL_TOKENS = Counter("answerbus_model_tokens_total", "Tokens read and written by models", ["kind"])
MODEL_COST = Counter("answerbus_model_cost_usd_total", "What the tokens cost by the price table, in US dollars")
MODEL_BREAKER_OPEN = Gauge("answerbus_model_breaker_open", "1 while an endpoint is left alone", ["endpoint"])
MODEL_FALLBACKS = Counter(
    "answerbus_model_fallbacks_total", "Steps done by rule because no model gave a reply", ["step", "reason"]
)
MODERATED = Counter(
    "answerbus_moderation_total", "Questions by what moderation made of them, and what it found", ["pipeline", "kind"]
)
GUARDRAILS_FAILED = Counter(
    "answerbus_guardrails_failed_total", "Questions and answers that guardrails could not judge", ["fails"]
)
CITATION_CHECKS = Counter(
    "answerbus_citation_checks_total", "Citations whose address was checked, by what came of it", ["outcome"]
)
ANSWER_CACHE = Counter("answerbus_answer_cache_total", "Questions looked up among kept answers", ["outcome"])
SIMILAR = Counter(
    "answerbus_similar_questions_total", "Questions compared with those that were answered before", ["outcome"]
)
NOT_PERMITTED = Counter("answerbus_not_permitted_total", "Times the bus refused this process's user", ["what"])
DEADLINES_MISSED = Counter(
    "answerbus_deadlines_missed_total",
    "Questions ended after their deadline",
    ["stage"],
)
RAW_ERASED = Counter("answerbus_raw_erased_total", "Raw questions erased before they expired")
FORGOTTEN = Counter("answerbus_forgotten_total", "Questions of which everything was erased")
EXCHANGES = Counter("answerbus_exchanges_total", "Live questions on record, by how they ended", ["pipeline", "outcome"])
EXCHANGES_HELPED = Counter(
    "answerbus_exchanges_by_way_total",
    "Live questions on record that were reused, reranked or tried again",
    ["pipeline", "way"],
)
FEEDBACK = Counter("answerbus_feedback_total", "Ratings on record", ["pipeline", "rating"])
SCORED = Counter("answerbus_scored_total", "Answers on record that were scored", ["pipeline", "by"])
SCORES = Counter("answerbus_scores_sum_total", "Sum of their scores, each 0 to 1", ["pipeline", "by", "score"])
TOKENS = Counter("answerbus_exchange_tokens_total", "Tokens of live questions", ["pipeline", "model", "kind"])
COST = Counter("answerbus_exchange_cost_usd_total", "What they cost, in US dollars", ["pipeline", "model"])
EXPIRED = Counter("answerbus_record_expired_total", "Exchanges deleted because of their age")
_DURABLE = ["stage", "subscription", "lane"]
BACKLOG_PENDING = Gauge("answerbus_backlog_pending", "Events that wait for a worker", _DURABLE)
BACKLOG_IN_FLIGHT = Gauge("answerbus_backlog_in_flight", "Events that workers hold", _DURABLE)
BACKLOG_OLDEST = Gauge("answerbus_backlog_oldest_seconds", "Age of the oldest event that is not done", _DURABLE)
BACKLOG_PAUSED = Gauge("answerbus_backlog_paused", "1 while an operator holds the work back", _DURABLE)
WORKERS = Gauge("answerbus_workers", "Workers that answer", ["stage"])
DEGRADED = Counter("answerbus_degraded_total", "Times an optional server was away", ["server"])


def configure_logging(stage: str, *, level: str, form: Literal["json", "console"]) -> None:
    """One line per record on standard error, JSON by default; `correlation_id` is bound while a fact is in work."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            _describe_exception,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(stage=stage)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")


def _describe_exception(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Where it happened and of which type: the text of an error that is not ours may quote what a person wrote."""
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    if error is not None:
        event["exception"] = "\n".join(_told(error))
    return event


def _told(error: BaseException) -> list[str]:
    """The error with those that led to it, the first one first."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    name = type(error).__name__
    text = f"{name}: {error}" if isinstance(error, AnswerbusError) else name
    return [*(_told(before) if before else ()), "".join(traceback.format_tb(error.__traceback__)) + text]


class Tracer:
    """W3C trace context over the bus; does nothing unless an OTLP endpoint is configured (extra `otel`)."""

    def __init__(self, otlp_endpoint: str, stage: str) -> None:
        self._tracer: Any = None
        if otlp_endpoint:
            self._tracer = _open_tracer(otlp_endpoint, stage)

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str] | None) -> Iterator[dict[str, str]]:
        """A span named `name` under the caller's; yields the headers that carry it on."""
        if self._tracer is None:
            yield {key: value for key, value in (headers or {}).items() if key in ("traceparent", "tracestate")}
            return
        from opentelemetry.propagate import extract, inject

        carrier: dict[str, str] = {}
        with self._tracer.start_as_current_span(name, context=extract(dict(headers or {}))):
            inject(carrier)
            yield carrier


def _open_tracer(endpoint: str, stage: str) -> Any:
    from shared.contracts.errors import ConfigurationError

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigurationError("ANSWERBUS_OTLP_ENDPOINT needs the extra: pip install 'answerbus[otel]'") from error
    provider = TracerProvider(resource=Resource.create({"service.name": f"answerbus-{stage}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")))
    return provider.get_tracer("answerbus")
