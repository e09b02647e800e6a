"""Whether two questions ask the same: what the rules tell apart, and what they let pass."""

from __future__ import annotations

import pytest

from services.retrieval.semantic_cache.decision import Candidate, decide
from services.retrieval.semantic_cache.equivalence import compare
from services.retrieval.semantic_cache.question_features import read
from services.retrieval.semantic_cache.settings import SimilarSettings

SETTINGS = SimilarSettings(mode="on")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How much is parental leave in 2023?", "How much is parental leave in 2024?"),
        ("Is it safe to take ibuprofen with alcohol?", "Is it safe to take ibuprofen without alcohol?"),
        ("Can I drink before surgery?", "Can I drink after surgery?"),
        ("Can I travel from Canada to Mexico?", "Can I travel from Mexico to Canada?"),
        ("Can dogs infect humans with parasites?", "Can humans infect dogs with parasites?"),
        ("Does my employer have to give notice?", "Do I have to give my employer notice?"),
        ("Who can apply for child benefits?", "How can I apply for child benefits?"),
        ("Is tap water safe in Paris?", "Is tap water safe in London?"),
        ("When does the museum open on Monday?", "When does the museum open on Sunday?"),
        ("What happens if I can pay my taxes?", "What happens if I can't pay my taxes?"),
        ("Is it legal to record a call?", "Is it illegal to record a call?"),
        ("Can I work on a student visa?", "Can I work on a tourist visa?"),
        ("Must I wear a mask in the hall?", "May I wear a mask in the hall?"),
        ("What is vitamin B-12 for?", "What is vitamin B-6 for?"),
        ("How long is a licence valid?", "How much is a licence?"),
        ("Can I top up? How long does it take?", "Can I top up?"),
    ],
)
def test_what_changes_the_answer_tells_two_questions_apart(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        comparison = compare(read(first, "eng"), read(second, "eng"))
        assert comparison.differences or comparison.narrows, first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I renew my passport?", "How can I get my passport renewed?"),
        ("I want to cancel my subscription", "How do I cancel my subscription?"),
        ("Where can I park my car?", "Where am I able to park the car?"),
        ("Should children wear masks?", "Should kids wear masks?"),
        ("How do I verify the card?", "How does verification of the card work: how is it verified?"),
        ("I lost my card 2 weeks ago", "I lost my card two weeks ago"),
        ("Why can't I pay?", "Why cannot I pay?"),
        ("Is COVID-19 dangerous?", "Is COVID 19 dangerous?"),
    ],
)
def test_other_words_for_the_same_have_no_differences(one: str, other: str) -> None:
    assert compare(read(one, "eng"), read(other, "eng")).differences == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Comment renouveler mon passeport ?", "Comment puis-je renouveler le passeport ?", True),
        ("Comment renouveler mon passeport ?", "Comment renouveler mon permis ?", False),
        ("Peut-on boire avant une opération ?", "Peut-on boire après une opération ?", False),
        ("Où payer la taxe ?", "Quand payer la taxe ?", False),
    ],
)
def test_french_is_read_by_its_own_words(one: str, other: str, same: bool) -> None:
    verdict = decide(one, "fra", [Candidate("o", other, "a")], SETTINGS)

    assert (verdict.taken is not None) is same, verdict.why


def test_the_nearest_is_taken_only_when_it_is_near_and_clearly_nearer_than_another_answer() -> None:
    asked = "How can I get my passport renewed?"
    same = Candidate("1", "How do I renew my passport?", "renewal", 0.93)
    rival = Candidate("2", "How long does passport renewal take?", "duration", 0.91)
    far = Candidate("2", rival.text, "duration", 0.80)
    its_own = Candidate("2", rival.text, "renewal", 0.91)

    assert decide(asked, "eng", [same, far], SETTINGS).taken == same
    assert decide(asked, "eng", [same, its_own], SETTINGS).taken == same
    assert "between two answers" in decide(asked, "eng", [same, rival], SETTINGS).why
    assert "not near enough" in decide(asked, "eng", [Candidate("1", same.text, "a", 0.7)], SETTINGS).why


def test_a_question_that_only_says_a_word_more_must_be_nearer() -> None:
    kept = Candidate("1", "How do I renew my passport?", "a", 0.85)

    assert decide("How do I renew my passport abroad?", "eng", [kept], SETTINGS).taken is None


def test_without_vectors_every_word_of_meaning_needs_its_counterpart() -> None:
    kept = Candidate("1", "How do I renew my passport?", "a")

    assert decide("How can I renew my passport?", "eng", [kept], SETTINGS).taken == kept
    assert "no counterpart" in decide("How can I renew my passport at home?", "eng", [kept], SETTINGS).why
    other = Candidate("2", "How do I renew my passport abroad?", "b")
    assert "between two answers" in decide("How can I renew my passport?", "eng", [kept, other], SETTINGS).why


def test_nothing_is_taken_from_nothing_or_for_nothing() -> None:
    assert decide("How do I renew my passport?", "eng", [], SETTINGS).taken is None
    assert decide("And?", "eng", [Candidate("1", "And?", "a", 1.0)], SETTINGS).taken is None
