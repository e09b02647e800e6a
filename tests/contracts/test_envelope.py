"""The envelope: ids that repeat, causes that are kept, attempts that are counted, and bytes that are refused."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import subjects
from shared.contracts.domain import Answer, Lane, PipelineRef, Question, Timing
from shared.contracts.envelope import (
    SCHEMA_VERSION,
    Envelope,
    Event,
    correlation_id_for,
    decode,
    event_id,
    event_type,
    following,
    new_correlation_id,
    opening,
    secret_correlation_id,
)
from shared.contracts.errors import InvalidEventError, PermanentError
from shared.contracts.facts import (
    FACTS,
    AnswerDrafted,
    AnswerRefuted,
    AnswerVerified,
    PassagesRetrieved,
    QuestionApproved,
    QuestionAsked,
)
from tests.support.table import table

PIPELINE = PipelineRef(name="default", revision=7)
SECRET = "sesame-4711"


def asked(**given_fields: Any) -> Event[QuestionAsked]:
    return opening("gateway", QuestionAsked(text="When?"), pipeline=PIPELINE, deadline_seconds=90, **given_fields)


def refuted() -> AnswerRefuted:
    return AnswerRefuted(question=Question(text="When?"), rewritten_question="At what time?", feedback="Be exact.")


# Ids


def test_new_correlation_ids_sort_by_the_time_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(1_767_225_600_000_000_000, 1_767_225_600_100_000_000, 1_000_000))
    monkeypatch.setattr("shared.contracts.envelope.time.time_ns", lambda: next(moments))

    ids = [new_correlation_id() for _ in range(100)]

    assert ids == sorted(ids)
    assert len(set(ids)) == 100


def test_new_correlation_id_is_a_uuid7_of_now() -> None:
    before = datetime.now(UTC)
    made = uuid.UUID(new_correlation_id())
    after = datetime.now(UTC)

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    at = datetime.fromtimestamp((made.int >> 80) / 1000, UTC)
    assert before - timedelta(milliseconds=1) <= at <= after


def test_new_correlation_ids_of_one_moment_differ() -> None:
    assert len({new_correlation_id() for _ in range(1000)}) == 1000


def test_correlation_id_for_the_same_parts_is_the_same() -> None:
    assert correlation_id_for("tenant", "key") == correlation_id_for("tenant", "key")
    assert subjects.is_correlation_id(correlation_id_for("tenant", "key"))


@given(left=st.lists(st.text("abc"), min_size=1, max_size=4), right=st.lists(st.text("abc"), min_size=1, max_size=4))
def test_correlation_id_for_other_parts_is_another(left: list[str], right: list[str]) -> None:
    """`("ab", "c")` and `("a", "bc")` must not name the same question."""
    assert (correlation_id_for(*left) == correlation_id_for(*right)) is (left == right)


def test_event_id_is_the_same_for_the_same_work_and_differs_in_each_of_its_parts() -> None:
    cid, other = correlation_id_for("one"), correlation_id_for("two")

    ids = {
        event_id(stage, fact, of, number)
        for stage in ("answer", "verifier")
        for fact in (AnswerDrafted, AnswerVerified)
        for of in (cid, other)
        for number in (0, 1)
    }

    assert len(ids) == 16
    assert event_id("answer", AnswerDrafted, cid, 0) == event_id("answer", AnswerDrafted, cid, 0)


def test_event_id_is_what_it_always_was() -> None:
    """Another namespace or spelling would let a redelivery across an upgrade say everything twice."""
    assert event_id("answer", AnswerDrafted, "0" * 32, 0) == "0b0ef7dd-5c4f-5cb5-9ce8-95f44e217148"
    assert correlation_id_for("a", "b") == "7bfe81f48d9a57e3be47bb3d135b628a"


def test_saying_the_same_twice_gives_one_id() -> None:
    cause = asked()
    approved = QuestionApproved(question=Question(text="When?"))

    assert following("moderation", approved, cause).event_id == following("moderation", approved, cause).event_id


# Opening and following


def test_opening_begins_a_conversation_of_its_own() -> None:
    event = asked()

    assert event.causation_id is None
    assert event.conversation_id == event.correlation_id
    assert (event.attempt, event.lane, event.timeline) == (0, Lane.LIVE, ())
    assert event.deadline - event.occurred_at == timedelta(seconds=90)
    assert event.schema_version == SCHEMA_VERSION
    assert 30 < event.remaining <= 90


def test_opening_takes_what_it_is_given() -> None:
    cid = correlation_id_for("key")

    event = asked(correlation_id=cid, conversation_id="talk", lane=Lane.BACKGROUND, number=3, tenant="town")

    assert (event.correlation_id, event.conversation_id, event.tenant) == (cid, "talk", "town")
    assert event.subject == f"bg.question.asked.{cid}.3"


def test_following_keeps_the_question_and_names_its_cause() -> None:
    cause = asked(conversation_id="talk", lane=Lane.BACKGROUND, tenant="town")

    event = following("moderation", QuestionApproved(question=Question(text="When?")), cause)

    assert event.causation_id == cause.event_id
    for kept in ("correlation_id", "conversation_id", "pipeline", "lane", "attempt", "deadline", "tenant"):
        assert getattr(event, kept) == getattr(cause, kept)


def test_following_adds_its_stage_to_the_timeline() -> None:
    first, second = (Timing(stage=stage, waited_ms=1, worked_ms=2) for stage in ("moderation", "translation"))
    approved = QuestionApproved(question=Question(text="When?"))

    once = following("moderation", approved, asked(), first)
    twice = following("translation", approved, once, second)

    assert twice.timeline == (first, second)
    assert following("translation", approved, once).timeline == (first,)


@table("name", FACTS)
def test_following_counts_a_new_attempt_only_after_a_fact_that_opens_one(name: str) -> None:
    cause = asked().model_copy(update={"fact": name, "attempt": 2})

    event = following("retrieval", PassagesRetrieved(question=Question(text="When?"), passages=()), cause)

    assert event.attempt == (3 if name in ("AnswerRefuted", "QuestionsForgotten") else 2)


def test_attempts_have_subjects_and_ids_of_their_own() -> None:
    found = PassagesRetrieved(question=Question(text="When?"), passages=())
    first = following("retrieval", found, asked())
    refutation = following("verifier", refuted(), first)

    second = following("retrieval", found, refutation)

    assert (first.attempt, refutation.attempt, second.attempt) == (0, 0, 1)
    assert first.event_id != second.event_id
    assert first.subject != second.subject


def test_following_takes_a_number_that_is_given() -> None:
    assert following("verifier", refuted(), asked(), number=5).attempt == 5


def test_remaining_is_negative_once_the_deadline_has_passed() -> None:
    late = asked().model_copy(update={"deadline": datetime.now(UTC) - timedelta(seconds=5)})

    assert -65 < late.remaining <= -5


def test_event_is_an_envelope_with_a_payload() -> None:
    event = asked()

    assert isinstance(event, Envelope)
    assert Envelope.model_validate_json(event.encode()).event_id == event.event_id
    assert event_type(QuestionAsked) is event_type(QuestionAsked)


# Decoding


def test_decode_reads_what_encode_wrote() -> None:
    event = asked()

    assert decode(event.subject, event.encode()) == event
    assert decode(subjects.live(event.subject), event.encode()) == event


def changed(event: Event[Any], **fields: Any) -> bytes:
    return json.dumps({**json.loads(event.encode()), **fields}).encode()


def test_decode_refuses_an_envelope_of_another_fact() -> None:
    event = asked()

    with pytest.raises(InvalidEventError, match="another fact, question, lane or attempt"):
        decode(event.subject, changed(event, fact="QuestionCleared"))


def test_decode_refuses_an_envelope_of_another_question() -> None:
    event = asked()

    with pytest.raises(InvalidEventError, match="another fact, question, lane or attempt"):
        decode(event.subject, changed(event, correlation_id=new_correlation_id()))


def test_decode_refuses_the_payload_of_another_fact() -> None:
    event = asked()
    verified = subjects.event(AnswerVerified, Lane.LIVE, event.correlation_id, 0)

    with pytest.raises(InvalidEventError, match=r"payload\.question"):
        decode(verified, changed(event, fact="AnswerVerified"))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"', b"{}"])
def test_decode_refuses_bytes_that_are_no_event(data: bytes) -> None:
    with pytest.raises(InvalidEventError):
        decode(asked().subject, data)


@given(data=st.binary(max_size=200))
def test_decode_of_any_bytes_is_an_event_or_a_permanent_error(data: bytes) -> None:
    with pytest.raises(PermanentError):
        decode(f"qa.question.asked.{'0' * 32}.0", data)


@pytest.mark.parametrize("subject", ["", "qa", "live.token.x", f"qa.question.pondered.{'0' * 32}.0"])
def test_decode_refuses_a_subject_that_no_event_has(subject: str) -> None:
    with pytest.raises(InvalidEventError):
        decode(subject, asked().encode())


@pytest.mark.parametrize(
    "fields",
    [
        {"payload": SECRET},
        {"payload": {"text": [SECRET]}},
        {"payload": {"text": {"nested": SECRET}}},
        {"payload": {"text": "When?", "turns": [{"question": SECRET}]}},
        {"payload": {"text": "When?", "turns": SECRET}},
        {"payload": {"text": "When?", "client": [SECRET]}},
        {"deadline": SECRET},
        {"lane": SECRET},
        {"attempt": SECRET},
        {"pipeline": {"name": "default", "revision": SECRET}},
        {"fact": f"Question{SECRET}"},
    ],
)
def test_decode_error_says_where_and_never_what(fields: dict[str, Any]) -> None:
    event = asked()

    with pytest.raises(InvalidEventError) as caught:
        decode(event.subject, changed(event, **fields))

    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert caught.value.message == ""


def test_decode_error_of_broken_json_does_not_quote_it() -> None:
    event = asked()

    with pytest.raises(InvalidEventError) as caught:
        decode(event.subject, f'{{"text": "{SECRET}", {SECRET}}}'.encode())

    assert SECRET not in str(caught.value)


def test_decode_error_names_the_fact_and_the_place() -> None:
    event = asked()

    with pytest.raises(InvalidEventError, match=r"\['question', 'asked'\]: payload\.text: .*string"):
        decode(event.subject, changed(event, payload={"text": 4}))


def test_events_are_frozen() -> None:
    event = following(
        "answer", AnswerDrafted(question=Question(text="?"), answer=Answer(content="!"), engine="e"), asked()
    )

    with pytest.raises(ValueError, match="frozen"):
        event.attempt = 4  # type: ignore[misc]


def test_secret_ids_stay_what_they_are() -> None:
    assert (
        secret_correlation_id(b"0123456789abcdef", "default", "web", "ann", "k-1") == "0d797f38e7598ef8ac18cb1a900958f1"
    )
    assert subjects.is_correlation_id(secret_correlation_id(b"s", ""))
