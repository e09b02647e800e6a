"""Subjects: derived from the facts' names, spelled in one place, and read back exactly."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.host.catalogue import stages
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import new_correlation_id
from shared.contracts.facts import FACTS, TERMINAL, AnswerVerified, Fact, QuestionAsked
from tests.support.table import table

CID = "0195a1b2c3d47e5f8a9b0c1d2e3f4a5b"
#: Participles that do not end in -ed.
IRREGULAR = {"forgotten", "given", "withdrawn"}

every_fact = table("fact", FACTS.values())
facts = st.sampled_from(list(FACTS.values()))
lanes = st.sampled_from(Lane)
cids = st.integers(0, 2**128 - 1).map(lambda number: f"{number:032x}")


def matches(pattern: str, subject: str) -> bool:
    """Whether a server would deliver the subject to that filter (`*` one token, `>` the rest)."""
    tokens = (".+" if token == ">" else "[^.]+" if token == "*" else re.escape(token) for token in pattern.split("."))
    return bool(re.fullmatch(r"\.".join(tokens), subject))


@every_fact
def test_fact_is_named_noun_and_past_participle(fact: type[Fact]) -> None:
    assert re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", fact.__name__)
    _, participle = fact.words()
    assert participle.endswith("ed") or participle in IRREGULAR


def test_words_of_different_facts_differ() -> None:
    assert len({fact.words() for fact in FACTS.values()}) == len(FACTS)


def test_subjects_are_spelled_as_documented() -> None:
    assert subjects.event(QuestionAsked, Lane.LIVE, CID, 0) == f"qa.question.asked.{CID}.0"
    assert subjects.event(QuestionAsked, Lane.BACKGROUND, CID, 2) == f"bg.question.asked.{CID}.2"
    assert subjects.event(AnswerVerified, Lane.LIVE, CID, 1) == f"qa.answer.verified.{CID}.end"


@given(fact=facts, lane=lanes, cid=cids, number=st.integers(0, 10**6))
def test_parse_takes_apart_what_event_spelled(fact: type[Fact], lane: Lane, cid: str, number: int) -> None:
    subject = subjects.event(fact, lane, cid, number)

    spelled = subjects.parse(subject)

    assert spelled == subjects.EventSubject(lane, fact.__name__, cid, None if fact.terminal else number)
    assert spelled.terminal is fact.terminal
    assert subjects.parse(subjects.live(subject)) == spelled


@given(fact=facts, lane=lanes, cid=cids, number=st.integers(0, 10**6))
def test_event_is_heard_by_its_own_filters_and_by_no_other(fact: type[Fact], lane: Lane, cid: str, number: int) -> None:
    subject = subjects.event(fact, lane, cid, number)

    assert [
        f for f in FACTS.values() for at in Lane if matches(subjects.consume_filter(f, at), subject) and at is lane
    ] == [fact]
    assert [at for at in Lane if matches(subjects.consume_filter(fact, at), subject)] == [lane]
    assert matches(subjects.endings(lane), subject) is fact.terminal
    assert matches(subjects.ending_of(lane, cid), subject) is fact.terminal
    assert any(matches(pattern, subject) for pattern in subjects.history_filters(cid))
    assert any(matches(pattern, subject) for pattern in subjects.STREAM_SUBJECTS)


@given(fact=facts, lane=lanes, cid=cids, other=cids)
def test_biography_of_one_question_holds_no_event_of_another(
    fact: type[Fact], lane: Lane, cid: str, other: str
) -> None:
    subject = subjects.event(fact, lane, cid, 0)

    assert any(matches(pattern, subject) for pattern in subjects.history_filters(other)) is (cid == other)


@given(cid=cids)
def test_all_endings_of_one_question_match_one_pattern(cid: str) -> None:
    endings = {subjects.event(fact, Lane.LIVE, cid, number) for fact in TERMINAL for number in (0, 3)}

    assert len(endings) == len(TERMINAL)
    assert all(matches(subjects.ending_of(Lane.LIVE, cid), subject) for subject in endings)


@table(
    "cid",
    [
        "",
        "*",
        ">",
        CID[:-1],
        CID + "0",
        CID.upper(),
        CID[:-1] + "g",
        CID[:-1] + ".",
        CID[:-1] + " ",
        CID[:-1] + "*",
        "0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "٣" * 32,
    ],
)
def test_correlation_id_that_is_not_32_lower_case_hex_digits_is_refused(cid: str) -> None:
    assert not subjects.is_correlation_id(cid)
    with pytest.raises(ValueError, match="not an event subject"):
        subjects.parse(f"qa.question.asked.{cid}.0")


@given(text=st.text(st.sampled_from("0123456789abcdefABCDEFg.*> -"), min_size=30, max_size=34))
def test_only_32_hex_digits_are_a_correlation_id(text: str) -> None:
    assert subjects.is_correlation_id(text) is (len(text) == 32 and set(text) <= set("0123456789abcdef"))


def test_new_correlation_ids_are_correlation_ids() -> None:
    assert all(subjects.is_correlation_id(new_correlation_id()) for _ in range(100))


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "qa",
        f"qa.question.asked.{CID}",
        f"qa.question.asked.{CID}.0.0",
        f"dead.question.asked.{CID}.0",
        f"live.live.question.asked.{CID}.0",
        f"qa.question.asked.{CID}.first",
        f"qa.question.asked.{CID}.01",
        f"qa.question.asked.{CID}.",
    ],
)
def test_subject_that_no_event_has_is_refused(subject: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the texts differ)
        subjects.parse(subject)


def test_subject_of_no_known_fact_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no such fact: QuestionPondered"):
        subjects.parse(f"qa.question.pondered.{CID}.0")


def test_durables_are_named_once_and_fit_a_server() -> None:
    durables = [
        subscription.durable(lane) for stage in stages() for subscription in stage.subscriptions for lane in Lane
    ]

    assert len(set(durables)) == len(durables)
    assert all(re.fullmatch(r"[a-z-]{1,64}", name) for name in durables)


def test_asks_signals_and_dead_letters_are_not_stored_with_the_facts() -> None:
    beside = [
        subjects.ask("retrieval", "search"),
        subjects.signal("token", CID),
        subjects.dead("answer", CID, 0),
        subjects.live(subjects.event(QuestionAsked, Lane.LIVE, CID, 0)),
        subjects.ROLL_CALL,
    ]

    assert not [s for s in beside for pattern in subjects.STREAM_SUBJECTS if matches(pattern, s)]


def test_signals_are_not_taken_for_republished_facts() -> None:
    with pytest.raises(ValueError, match="not an event subject"):
        subjects.parse(subjects.signal("token", CID))
