"""Which answers are kept to be given again, and how one is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from services.persistence import projection
from services.persistence.answer_cache import AnswerCache, cacheable_answer, kept_answer
from services.persistence.settings import PersistenceSettings
from shared.contracts.answer_cache import (
    GENERATION,
    KeptAnswer,
    generation_of,
    is_about,
    normalised,
    place_of,
    read_kept,
    reuse_key,
)
from shared.contracts.domain import Answer, Context, Lane, PipelineRef, Question, Turn
from shared.contracts.envelope import Event
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import (
    AnswerReused,
    ClarificationRequested,
    QuestionAbandoned,
    QuestionEscalated,
    QuestionRejected,
)
from shared.contracts.outcome import outcome_of
from tests.support.answer_signatures import signing
from tests.support.records import MemoryKeyValue, question_id, said, verified

SETTINGS = PersistenceSettings()
TEXT = "How do I renew?"
WHERE: dict[str, Any] = {
    "tenant": "town",
    "pipeline": PipelineRef(name="default", revision=3),
    "language": "",
    "turns": (),
    "generation": b"g1",
}
KEY = reuse_key(TEXT, **WHERE)
PLACE = place_of(KEY)


def shelf_of_answers(*, away: bool = False) -> MemoryKeyValue:
    return MemoryKeyValue({GENERATION: b"g1"}, away=away)


def ended(fact: Any = None, *, key: str = KEY, lane: Lane = Lane.LIVE, **changed: Any) -> Event[Any]:
    fact = fact or verified(TEXT)
    return said(fact.model_copy(update=changed), lane=lane).model_copy(update={"reuse_key": key})


def cacheable(event: Event[Any]) -> KeptAnswer | None:
    return cacheable_answer(event.payload, outcome_of(event.payload), event)


async def keep(store: MemoryKeyValue, event: Event[Any]) -> None:
    kept = cacheable(event)
    assert kept is not None
    await AnswerCache(store, signing().signer).store(kept, event, SETTINGS)


@pytest.mark.parametrize("text", ["  how do i\trenew ", "How do I renew??", "HOw dO I renew…"])
def test_the_same_words_are_the_same_question(text: str) -> None:
    assert reuse_key(text, **WHERE) == KEY


@pytest.mark.parametrize("text", ["How do I renew it?", "How do WE renew?", "How do I not renew?"])
def test_other_words_are_another_question(text: str) -> None:
    assert reuse_key(text, **WHERE) != KEY


def test_an_abbreviation_is_no_pronoun() -> None:
    assert normalised("May US citizens vote?") != normalised("May us citizens vote?")


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "village"},
        {"pipeline": PipelineRef(name="default", revision=4)},
        {"pipeline": PipelineRef(name="other", revision=3)},
        {"language": "fra"},
        {"turns": (Turn(question="a", answer="b"),)},
        {"generation": b"g2"},
    ],
)
def test_whatever_an_answer_depends_on_makes_another_key(other: dict[str, Any]) -> None:
    assert reuse_key(TEXT, **{**WHERE, **other}) != KEY


async def test_a_verified_answer_is_kept_for_thirty_days_without_the_turns_before_it() -> None:
    store = shelf_of_answers()
    await keep(store, ended())

    kept = read_kept(store.values[PLACE], b"g1")
    assert kept is not None
    assert (kept.origin, kept.answer.content, kept.engine) == (question_id(), "You renew online.", "extractive")
    assert store.ttls[PLACE] == 30 * 86_400


@pytest.mark.parametrize(
    "changed",
    [
        {"best_effort": True},
        {"confidence": 1.0},
        {"citations": ()},
        {"tool_calls": ({"name": "get_experts"},)},
        {"answer": verified().answer.model_copy(update={"type": "not_found"})},
        {"answer": verified().answer.model_copy(update={"payload": {"type": "text"}})},
        {"citations": (verified().citations[0].model_copy(update={"source": "web:https://news.example"}),)},
        {"question": verified().question.model_copy(update={"text": "How do I, ▒▒▒, renew?"})},
    ],
)
def test_an_answer_that_is_unsure_personal_or_made_of_what_changes_is_not_kept(changed: dict[str, Any]) -> None:
    event = ended(**changed)

    assert cacheable(event) is None


@pytest.mark.parametrize(
    "event",
    [
        ended(key=""),
        ended(lane=Lane.BACKGROUND),
        ended(QuestionEscalated(text=TEXT, message="Call.")),
        ended(QuestionRejected(kind="off_topic", text=TEXT, message="No.")),
        ended(QuestionAbandoned(stage="answer", kind="timeout", message="Sorry.", text=TEXT)),
        ended(ClarificationRequested(question=Question(text=TEXT), clarification="Which card?")),
        ended(AnswerReused(question=Question(text=TEXT), answer=Answer(content="Yes."), origin="0" * 32)),
    ],
)
def test_only_a_live_answer_with_a_key_is_kept(event: Event[Any]) -> None:
    assert cacheable(event) is None


def test_the_record_gives_the_same_answer_with_its_department() -> None:
    event = ended(context=Context(standalone_question=TEXT, department="library", topic="cards", read_on="/cards"))
    recorded = projection.exchange(event.payload, event).to_outcome()

    stored = cacheable(event)
    assert stored is not None
    assert stored.context == Context(department="library", topic="cards", read_on="/cards")
    assert kept_answer(recorded, stored.question, KEY, question_id()) == stored


async def test_a_disliked_answer_is_gone_and_does_not_come_back_when_its_ending_is_heard_again() -> None:
    store = shelf_of_answers()
    event = ended()
    await keep(store, event)

    await AnswerCache(store, signing().signer).dispute(event, SETTINGS)
    await keep(store, event)

    assert read_kept(store.values[PLACE], b"g1") is None


async def test_a_store_that_is_away_costs_no_record_but_a_dislike_waits_for_it() -> None:
    store = shelf_of_answers(away=True)

    await keep(store, ended())

    with pytest.raises(UnavailableError):
        await AnswerCache(store, signing().signer).dispute(ended(), SETTINGS)


def test_what_cannot_be_read_is_no_answer() -> None:
    assert read_kept(b"g1\n{", b"g1") is None
    assert read_kept(b"", b"g1") is None
    assert read_kept(None, b"g1") is None


async def test_an_answer_of_an_earlier_generation_is_not_given_and_the_next_one_takes_its_place() -> None:
    store = shelf_of_answers()
    await keep(store, ended())
    store.values[GENERATION] = b"g2"
    assert read_kept(store.values[PLACE], b"g2") is None

    again = ended(key=reuse_key(TEXT, **{**WHERE, "generation": b"g2"}))
    await keep(store, again)

    assert read_kept(store.values[PLACE], b"g2") is not None
    assert len(store.values) == 2


async def test_an_answer_that_ends_after_the_index_has_changed_is_not_given() -> None:
    store = shelf_of_answers()
    store.values[GENERATION] = b"g2"

    await keep(store, ended())

    assert read_kept(store.values[PLACE], b"g2") is None


async def test_an_answer_that_ends_after_the_index_has_changed_replaces_none_of_the_new_index() -> None:
    store = shelf_of_answers()
    store.values[GENERATION] = b"g2"
    await keep(store, ended(key=f"{PLACE}-g2"))
    newer = store.values[PLACE]

    await keep(store, ended())

    assert store.values[PLACE] == newer


def test_a_key_tells_its_place_and_its_generation() -> None:
    assert (f"{place_of(KEY)}-g1", generation_of(KEY)) == (KEY, b"g1")


def test_a_key_tells_its_text_from_another() -> None:
    assert is_about(KEY, "how do I renew")
    assert not is_about("", TEXT)
