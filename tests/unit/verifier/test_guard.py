"""The output guard: no instructions, no internals, nothing that the pipeline forbids."""

from __future__ import annotations

import pytest

from shared.contracts.domain import Answer
from shared.contracts.facts import AnswerRefuted, AnswerVerified
from shared.language.fingerprints import marks, repeats
from tests.unit.verifier.drafts import COST, GOOD, answer, check, drafted

PROMPT = """You are the assistant of the passport office of Atlantis. Speak kindly and never promise a date.
When somebody asks about fees you quote the table of fees and nothing else, whatever they say to you."""
LEAK = "I was told: when somebody asks about fees you quote the table of fees and nothing else."
#: A passage whose words hold what the tests leak, so that only the guard objects.
TELLING = COST.model_copy(update={"text": f"{COST.text} {LEAK}"})


async def test_an_answer_that_repeats_its_prompt_is_sent_back_and_not_kept() -> None:
    said = await check(drafted(LEAK, prompt_marks=marks(PROMPT)))

    assert isinstance(said, AnswerRefuted)
    assert said.feedback == "The answer repeats its instructions."
    assert said.earlier.best is None
    assert "table of fees" not in said.model_dump_json()


async def test_the_last_attempt_is_refused_politely() -> None:
    said = await check(drafted(LEAK, prompt_marks=marks(PROMPT)), attempt=2)

    assert isinstance(said, AnswerVerified)
    assert (said.answer.type, said.confidence, said.citations) == ("refusal", 0.0, ())
    assert said.answer.content.startswith("I cannot answer")
    assert "table of fees" not in said.model_dump_json(exclude={"passages"})


async def test_words_that_also_stand_in_a_passage_are_no_leak() -> None:
    said = await check(drafted(LEAK, passages=(TELLING,), prompt_marks=marks(PROMPT)), threshold=0)

    assert isinstance(said, AnswerVerified)
    assert said.answer.type == "normal"


@pytest.mark.parametrize(
    "text",
    [
        "My system prompt says so.",
        "This runs on JetStream.",
        "An AnswerDrafted went to the verifier.",
        "It is in Qdrant, a passport costs 120 dollars.",
    ],
)
async def test_an_answer_that_speaks_of_how_the_system_is_built_is_sent_back(text: str) -> None:
    said = await check(drafted(text))

    assert isinstance(said, AnswerRefuted)
    assert "how the system is built" in said.feedback


async def test_documents_about_such_software_may_be_quoted() -> None:
    about = COST.model_copy(update={"text": "A Qdrant collection costs nothing to create for a passport."})

    said = await check(drafted("A Qdrant collection costs nothing to create for a passport.", passages=(about,)))

    assert isinstance(said, AnswerVerified)


@pytest.mark.parametrize("text", ["Ask Acme  Corp.", "ask ACME-corp", "Naturally: acme corp!"])
async def test_what_the_pipeline_forbids_is_sent_back_even_when_a_passage_says_it(text: str) -> None:
    telling = COST.model_copy(update={"text": f"{COST.text} {text}"})

    said = await check(drafted(text, passages=(telling,)), forbidden=["Acme Corp"])

    assert isinstance(said, AnswerRefuted)
    assert "forbids" in said.feedback
    assert "acme" not in said.feedback.lower()


async def test_a_forbidden_phrase_within_another_word_is_none() -> None:
    assert isinstance(await check(drafted(), forbidden=["port", "pass"]), AnswerVerified)


async def test_structured_data_is_guarded_too() -> None:
    hidden = Answer(content="Here.", type="structured", payload={"items": [{"title": "By Acme Corp"}]})

    said = await check(drafted(answer=hidden, citations=()), forbidden=["acme corp"], max_refutations=0)

    assert said.answer.type == "refusal"


async def test_an_earlier_attempt_is_answered_rather_than_a_refusal() -> None:
    first = await check(drafted(GOOD, "Every applicant receives a golden umbrella."))

    said = await check(drafted("Ask Acme Corp.", earlier=first.earlier), attempt=2, forbidden=["acme corp"])

    assert (said.best_effort, said.answer) == (True, answer(GOOD))


def test_eleven_words_in_a_row_are_always_found_and_seven_never() -> None:
    spoken = PROMPT.split()

    for at in range(len(spoken) - 10):
        assert repeats("so " + " ".join(spoken[at : at + 11]).upper() + " there", marks(PROMPT)), at
        assert not repeats("so " + " ".join(spoken[at : at + 7]) + " there", marks(PROMPT)), at


def test_marks_stay_small_and_say_nothing_readable() -> None:
    long = " ".join(f"word{number}" for number in range(20_000))

    assert len(marks(long)) <= 4000
    assert "word" not in marks("word " * 100)
    assert repeats(long, marks(long))


@pytest.mark.parametrize("odd", ["", "~~~", "é", "0ssI2Hvh"])
def test_marks_that_cannot_be_read_match_nothing(odd: str) -> None:
    assert not repeats(PROMPT, odd)
