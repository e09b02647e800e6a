"""Events as the log keeps them, and errors as logs tell them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import orjson
import pytest
import structlog

from shared.bus.ports import StoredEvent
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.errors import InvalidEventError, TransientError
from shared.contracts.facts import QuestionAsked, QuestionWithdrawn
from shared.observability.logging import configure_logging
from shared.observability.traces import Tracer

REF = PipelineRef(name="default", revision=1)
ASKED = opening("gateway", QuestionAsked(text="zanzibar?"), pipeline=REF, deadline_seconds=60)


def stored(subject: str = ASKED.subject, data: bytes = ASKED.encode()) -> StoredEvent:
    return StoredEvent(subject, 7, datetime.now(UTC), data)


def test_a_stored_event_is_read_back_as_it_was_said() -> None:
    assert stored().decode() == ASKED
    assert stored().correlation_id == ASKED.correlation_id
    assert not stored().terminal


def test_a_stored_ending_is_known_by_its_subject() -> None:
    ending = opening("gateway", QuestionWithdrawn(), pipeline=REF, deadline_seconds=60)

    assert stored(ending.subject, ending.encode()).terminal


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"\xff", ASKED.encode().replace(b'"text":"zanzibar?"', b'"text":{"zanzibar":1}')],
    ids=["nothing", "no fields", "no text", "a wrong type"],
)
def test_bytes_that_do_not_fit_are_an_error_that_does_not_quote_them(data: bytes) -> None:
    with pytest.raises(InvalidEventError) as raised:
        stored(data=data).decode()

    assert "zanzibar" not in str(raised.value)


def test_an_event_under_another_ones_subject_is_an_error() -> None:
    other = opening("gateway", QuestionAsked(text="?"), pipeline=REF, deadline_seconds=60)

    with pytest.raises(InvalidEventError, match="another"):
        stored(data=other.encode()).decode()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What a worker with default settings writes."""
    before = structlog.get_config()
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    configure_logging("moderation", level="info", form="json")
    yield output
    structlog.configure(**before)
    structlog.contextvars.clear_contextvars()


def written(lines: io.StringIO) -> dict[str, str]:
    (line,) = lines.getvalue().splitlines()
    record: dict[str, str] = orjson.loads(line)
    return record


def test_a_record_is_one_line_of_json_with_the_stage_and_what_is_bound(lines: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(correlation_id="abc"):
        structlog.get_logger().info("worker ready", subscriptions=["question-asked"])

    record = written(lines)
    assert record["event"] == "worker ready"
    assert (record["stage"], record["correlation_id"], record["level"]) == ("moderation", "abc", "info")


def test_an_error_that_is_not_ours_is_told_by_its_type_and_place_only(lines: io.StringIO) -> None:
    try:
        raise ValueError("cannot read zanzibar")
    except ValueError:
        structlog.get_logger().exception("delivery failed")

    told = written(lines)["exception"]
    assert told.endswith("ValueError")
    assert "test_log_privacy.py" in told
    assert told.count("zanzibar") == 1  # in the line of code that is shown, never as a value


def test_an_error_of_ours_is_told_with_its_text_and_what_led_to_it_without(lines: io.StringIO) -> None:
    secret = "zanzibar"
    try:
        try:
            raise KeyError(secret)
        except KeyError as error:
            raise TransientError("the dictionary is broken") from error
    except TransientError as error:
        structlog.get_logger().warning("try failed", exc_info=error)

    told = written(lines)["exception"].splitlines()
    assert told[-1] == "TransientError: the dictionary is broken"
    assert "KeyError" in told
    assert "zanzibar" not in "".join(told)


def test_a_record_without_an_error_has_none(lines: io.StringIO) -> None:
    structlog.get_logger().warning("try failed", exc_info=None)

    assert "exception" not in written(lines)


def test_trace_context_is_handed_on_without_a_collector() -> None:
    tracer = Tracer("", "moderation")

    event = opening("gateway", QuestionAsked(text="q"), pipeline=REF, deadline_seconds=60)

    with tracer.fact_span(event, {"traceparent": "00-1-2-01", "Nats-Msg-Id": "x"}) as carried:
        assert carried == {"traceparent": "00-1-2-01"}
    with tracer.fact_span(event, None) as carried:
        assert carried == {}
