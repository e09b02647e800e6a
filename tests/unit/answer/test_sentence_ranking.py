"""The judgement: which statements answer a question, and whether they do."""

from __future__ import annotations

from services.answer.engines.sentence_ranking import choose, confidence, coverage, read, same_question, weigh
from services.answer.engines.statements import statements
from shared.contracts.domain import Passage


def passage(
    text: str, *, title: str = "", score: float = 1.0, source: str = "", start: int = 0, language: str = "eng"
) -> Passage:
    source = source or f"kb:{text[:12]}"
    return Passage(
        id=f"{source}#{start}", source=source, text=text, title=title, score=score, start=start, language=language
    )


def chosen(question: str, *passages: Passage, most: int = 4, longest: int = 1200) -> list[str]:
    asked, evidence = read(question, "eng", passages)
    return [choice.statement.text for choice in choose(asked, evidence, most=most, longest=longest)]


def test_the_statement_that_speaks_of_the_question_is_chosen() -> None:
    office = passage("The office opens at nine. A passport costs 120 dollars. Parking is behind the house.")

    assert chosen("What does a passport cost?", office) == ["A passport costs 120 dollars."]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    stated = [statements("A passport is blue. A passport is small. A passport needs a photo.", "eng")]

    asked = weigh(frozenset(["passport", "photo", "visa"]), stated)

    assert asked.weights["passport"] < asked.weights["photo"] < asked.weights["visa"]


def test_words_that_only_ask_do_not_count() -> None:
    asked, _ = read("Please tell me how much a passport costs", "eng", [passage("A passport costs 120 dollars.")])

    assert set(asked.weights) == {"passport", "cost"}


def test_a_title_that_is_the_question_leads_with_the_beginning_of_its_answer() -> None:
    other = passage(
        "Pets and coronavirus were studied. A pet can carry coronavirus on its fur.", title="Studies", score=9
    )
    own = passage(
        "No. There is no sign of it. Wash your hands anyway.", title="FAQ — Can pets get the coronavirus?", score=8
    )

    found = chosen("Can my pet get coronavirus?", other, own)

    assert found[:2] == ["No.", "There is no sign of it."]


def test_the_beginning_is_that_of_the_first_piece_under_a_title() -> None:
    title = "Can pets get the coronavirus?"
    later = passage("Hands should be washed often.", title=title, source="kb:faq", start=500, score=9)
    first = passage("There is no sign of it.", title=title, source="kb:faq", start=40, score=8)

    assert chosen(title, later, first)[0] == "There is no sign of it."


def test_sentences_stay_in_the_order_of_their_passage() -> None:
    text = "Renew online within a year. The fee is 120 dollars. Renew a passport online with two photos."

    assert chosen("How do I renew a passport online?", passage(text)) == [
        "Renew online within a year.",
        "Renew a passport online with two photos.",
    ]


def test_the_same_thing_is_not_said_twice() -> None:
    one = passage("A passport costs 120 dollars.", source="kb:a")
    two = passage("A passport costs 120 dollars!", source="kb:b")

    assert len(chosen("What does a passport cost?", one, two)) == 1


def test_an_answer_keeps_to_its_limits() -> None:
    text = " ".join(f"A passport costs {n}0 dollars in office {chr(65 + n)}{chr(65 + n)}." for n in range(1, 9))

    assert len(chosen("What does a passport cost?", passage(text), most=2)) == 2
    assert sum(map(len, chosen("What does a passport cost?", passage(text), longest=80))) <= 80


def test_an_answer_is_in_one_language() -> None:
    english = passage("A passport costs 120 dollars.", score=2)
    french = passage("Le passport costs 120 dollars ici.", score=1, language="fra")

    assert chosen("What does a passport cost?", english, french) == ["A passport costs 120 dollars."]


def test_coverage_is_that_of_one_source_not_of_scraps_from_many() -> None:
    asked, evidence = read(
        "How can I withdraw money?",
        "eng",
        [passage("You may withdraw from the study at any time."), passage("Wash your hands after touching money.")],
    )

    assert coverage(asked, choose(asked, evidence, most=4, longest=1200)) == 0.5


def test_confidence_grows_with_the_evidence() -> None:
    question = "What does a passport cost?"
    full, half = passage("A passport costs 120 dollars.", title=question), passage("A passport is a blue booklet.")

    def sure(one: Passage) -> float:
        asked, evidence = read(question, "eng", [one])
        return confidence(asked, evidence, choose(asked, evidence, most=4, longest=1200))

    assert 0 < sure(half) < sure(full) <= 10


def test_a_question_without_meaning_is_covered_by_nothing() -> None:
    asked, evidence = read("What is this?", "eng", [passage("This is what it is, as it were.")])

    assert choose(asked, evidence, most=4, longest=1200) == []
    assert coverage(asked, []) == 0
    assert confidence(asked, evidence, []) == 0


def test_no_passages_are_no_evidence() -> None:
    asked, evidence = read("What does a passport cost?", "eng", [])

    assert evidence == []
    assert same_question(asked, "", "eng") == 0
