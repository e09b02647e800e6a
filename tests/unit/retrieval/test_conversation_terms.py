"""Follow-ups: rewritten only when that is sure, and searched together with what was said before."""

from __future__ import annotations

from pathlib import Path

import pytest
from answerbus_lab.evaluation.followup_retrieval import retrieval_gain
from answerbus_lab.evaluation.followups import FollowupCase
from answerbus_lab.evaluation.retrieval import embedded_settings

from services.retrieval.ports import WeightedText
from services.retrieval.query_rewriting.conversation_terms import conversation_terms
from services.retrieval.stores.encoder import encode_query
from shared.contracts.domain import Turn
from shared.contracts.pipelines import Pipeline
from shared.language.rules.followups.plausibility import is_noun_phrase
from shared.language.rules.followups.standalone import standalone

LIBRARY = Turn(question="What is the city library?", answer="It is a house in Port Royal, near the old Harbour Bridge.")


def _rewritten(question: str, *earlier: str, language: str = "eng") -> str:
    return standalone(question, [Turn(question=one, answer="It is so.") for one in earlier], language).question


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("Is it safe to eat raw eggs?", "What is the best diet?"),
        ("Would it be better to rent a car?", "What is the Amalfi Coast?"),
        ("Is it legal for children to work?", "What is the minimum wage?"),
        ("How did they win?", "Who was Ada Lovelace?"),
        ("Does Canada have its own queen?", "What is the Commonwealth?"),
        ("Can I receive several?", "Can I receive an uploaded file?"),
        ("Why is it?", "Wow, is that really so?"),
        ("What are the causes?", "Was it in 1998?"),
    ],
)
def test_question_whose_rewrite_would_be_a_guess_is_left_as_it_was_asked(question: str, earlier: str) -> None:
    assert _rewritten(question, earlier) == question


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("Est-il dangereux de manger des œufs crus ?", "Quel est le meilleur régime ?"),
        ("Serait-il mieux de louer une voiture ?", "Où se trouve la gare ?"),
    ],
)
def test_impersonal_il_refers_to_nothing(question: str, earlier: str) -> None:
    assert _rewritten(question, earlier, language="fra") == question


@pytest.mark.parametrize(
    ("text", "language", "is_one"),
    [
        ("the city library", "eng", True),
        ("Will Smith", "eng", True),
        ("several of I receive an uploaded file", "eng", False),
        ("what it costs", "eng", False),
        ("1998", "eng", False),
        ("wow", "eng", False),
        ("dangerous", "eng", False),
        ("good", "eng", False),
        ("the permit. And", "eng", False),
        ("la piscine municipale", "fra", True),
        ("comment faire", "fra", False),
    ],
)
def test_only_noun_phrases_are_put_into_questions_or_offered(text: str, language: str, is_one: bool) -> None:
    assert is_noun_phrase(text, language) is is_one


def test_clarification_offers_no_parts_of_clauses() -> None:
    # Given a comparison of which one side is a clause
    turns = [Turn(question="What is the difference between the red card and what I get?", answer="")]
    # When a pronoun could mean either
    resolved = standalone("Is it free?", turns, "eng")
    # Then nothing is asked
    assert resolved.referents == ()


def test_words_of_earlier_turns_count_less_than_those_of_the_question() -> None:
    # Given a conversation of three questions
    turns = [LIBRARY, Turn(question="Who runs it?", answer="Nobody."), Turn(question="Is it open?", answer="At nine.")]
    # When a question refers back to it
    context = conversation_terms("What does it cost?", turns, "eng")
    # Then the first and the last question count more than the one between, and all less than the question
    assert [one.weight for one in context] == [0.4, 0.2, 0.4]
    indices, weights = encode_query("What does it cost?", "eng", context)
    own, _ = encode_query("What does it cost?", "eng")
    assert all(weight == 1.0 for index, weight in zip(indices, weights, strict=True) if index in own)
    assert {weight for index, weight in zip(indices, weights, strict=True) if index not in own} == {0.2, 0.4}


def test_names_in_the_last_answer_are_searched_for_too() -> None:
    assert WeightedText("Port Royal Harbour Bridge", 0.2) in conversation_terms("Is it open?", [LIBRARY], "eng")


def test_question_that_stands_by_itself_takes_little_from_the_conversation() -> None:
    (question, *_) = conversation_terms("How many people live in the largest town of Iceland?", [LIBRARY], "eng")
    assert question.weight == pytest.approx(0.16)


def test_first_question_has_no_context() -> None:
    assert conversation_terms("Is it open?", [], "eng") == ()


async def test_gain_of_follow_ups_is_measured_against_peoples_rewrites(tmp_path: Path) -> None:
    # Given two conversations whose follow-ups name nothing that their passages have
    passages = {
        "tax": "The dog tax of Atlantis is due in March of every year.",
        "fee": "The marina of Port Royal costs forty euros for a night.",
    }
    tax, marina = (Turn(question=one, answer="x") for one in ("What is the dog tax?", "Where is the marina?"))
    cases = [
        FollowupCase("g", "When is it due?", "When is the dog tax due?", (tax,), passages["tax"]),
        FollowupCase("g", "How much is it?", "How much is the marina?", (marina,), passages["fee"]),
    ]
    # When what they find is measured
    found = await retrieval_gain(
        cases, Pipeline(name="default"), embedded_settings(tmp_path), language="eng", corpus=None
    )
    # Then each way has its figures, and the rule gains what people gain
    assert found["questions"] == 2
    assert set(found["ways"]) == {"as asked", "by rule", "by people"}
    assert found["ways"]["by rule"]["R@10"][0] == found["ways"]["by people"]["R@10"][0] == 1.0
