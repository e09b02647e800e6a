"""What a pipeline's `endings` make of the facts that end its questions."""

from __future__ import annotations

import pytest

from shared.contracts.domain import Answer, Link, Question, Refutation
from shared.contracts.facts import (
    AnswerReused,
    AnswerVerified,
    ClarificationRequested,
    Fact,
    QuestionAbandoned,
    QuestionEscalated,
    QuestionRejected,
)
from shared.contracts.outcome import outcome_of
from shared.contracts.pipelines import EndingSettings
from shared.text.endings import apply_endings, question_of

QUESTION = Question(text="Où est la piscine & le parc ?", language="fra")
ALL = EndingSettings(silent=("not_found", "refuted", "clarification", "abandoned"))
LINKED = EndingSettings(
    search_url={"en": "https://example.org/search?q={query}", "fr": "https://example.org/chercher?q={query}"},
    home_url={"en": "https://example.org/", "fr": "https://example.org/fr"},
)
REFUTED = (Refutation(attempt=0, feedback="no"),)


def verified(kind: str = "not_found", **fields: object) -> AnswerVerified:
    answer = Answer.model_validate({"content": "Nothing is said about it.", "type": kind})
    return AnswerVerified.model_validate({"question": QUESTION, "answer": answer, "engine": "chat", **fields})


@pytest.mark.parametrize(
    ("fact", "ending"),
    [
        (verified(), "not_found"),
        (verified(refuted=REFUTED), "refuted"),
        (verified("refusal", refuted=REFUTED), "refuted"),
        (verified("normal", best_effort=True, refuted=REFUTED), "refuted"),
        (ClarificationRequested(question=QUESTION, clarification="Which one?"), "clarification"),
        (QuestionAbandoned(stage="answer", kind="model", message="It failed."), "abandoned"),
    ],
)
def test_ending_is_silent_only_where_the_pipeline_names_it(fact: Fact, ending: str) -> None:
    silent = apply_endings(fact, EndingSettings.model_validate({"silent": [ending]}), QUESTION)
    others = [one for one in ("not_found", "refuted", "clarification", "abandoned") if one != ending]
    shown = apply_endings(fact, EndingSettings.model_validate({"silent": others}), QUESTION)

    assert not outcome_of(silent).reply
    shown_type = outcome_of(fact).shown_answer.type
    assert outcome_of(silent).shown_answer == Answer(content="", type=shown_type, payload={"type": "text"})
    assert outcome_of(shown) == outcome_of(fact)


@pytest.mark.parametrize(
    "fact",
    [
        verified("normal"),
        AnswerReused(question=QUESTION, answer=Answer(content="At eight."), origin="a" * 32),
        QuestionEscalated(text="Help", message="Call 112."),
    ],
)
def test_answers_and_emergencies_are_never_silent(fact: Fact) -> None:
    assert apply_endings(fact, ALL, QUESTION) == fact


def test_what_a_tool_changed_is_told_although_the_ending_is_silent() -> None:
    booked = {"type": "session_booked"}
    fact = QuestionAbandoned(stage="answer", kind="model", message="Your session is booked.", payload=booked)

    assert apply_endings(fact, ALL, QUESTION) == fact


def test_failure_links_the_search_page_in_the_language_of_the_question() -> None:
    fact = QuestionAbandoned(stage="answer", kind="internal", message="It failed.")
    url = "https://example.org/chercher?q=O%C3%B9%20est%20la%20piscine%20%26%20le%20parc%20%3F"

    assert apply_endings(fact, LINKED, QUESTION).links == (Link(url=url),)
    assert Link(url=url) in apply_endings(verified(), LINKED, QUESTION).answer.links
    # A page that is linked already is not linked twice.
    twice = apply_endings(apply_endings(fact, LINKED, QUESTION), LINKED, QUESTION)
    assert len(twice.links) == 1


def test_text_that_moderation_has_not_seen_is_in_no_link() -> None:
    fact = QuestionAbandoned(stage="moderation", kind="internal", message="It failed.")

    assert apply_endings(fact, LINKED, None).links == (Link(url="https://example.org/"),)


def test_question_is_that_of_the_first_fact_that_has_one() -> None:
    assert question_of(QuestionAbandoned(stage="answer", kind="x", message="y"), verified()) == QUESTION
    assert question_of(QuestionAbandoned(stage="answer", kind="x", message="y")) is None


@pytest.mark.parametrize(
    ("kind", "url"),
    [("too_short", "https://example.org/chercher?q=piscine%20%26%20parc"), ("pii", "https://example.org/fr")],
)
def test_a_rejection_links_the_search_only_for_a_question_that_is_too_short(kind: str, url: str) -> None:
    rejected = QuestionRejected.model_validate(
        {"kind": kind, "text": "piscine & parc", "message": "Non.", "language": "fra"}
    )

    assert [link.url for link in outcome_of(apply_endings(rejected, LINKED, None)).shown_answer.links] == [url]


def test_a_rejection_that_is_silent_or_has_a_link_stays_as_it_is() -> None:
    silent = QuestionRejected(kind="pii", text="a", message="", reply=False)
    linked = QuestionRejected(kind="too_short", text="a", message="", link=Link(url="https://example.org/own"))

    assert [apply_endings(one, LINKED, None) for one in (silent, linked)] == [silent, linked]


def test_a_scope_is_no_effect_that_keeps_an_ending_from_being_silent() -> None:
    answer = Answer(content="Ask your town.", type="not_found", payload={"scope": "pt-muni"})
    fact = AnswerVerified(question=QUESTION, answer=answer, engine="chat")

    assert not apply_endings(fact, ALL, QUESTION).reply
