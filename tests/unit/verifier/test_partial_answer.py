"""Several attempts: what is carried on from one to the next, and which is answered in the end."""

from __future__ import annotations

import pytest

from shared.contracts.domain import Answer, Attempts, Sentence
from shared.contracts.envelope import opening
from shared.contracts.facts import AnswerRefuted, AnswerVerified
from tests.unit.verifier.drafts import ASKED, CITATION, COST, GOOD, INVENTED, answer, check, drafted, envelope


async def test_a_refuted_draft_is_carried_on_without_what_is_not_supported() -> None:
    said = await check(drafted(GOOD, INVENTED))

    assert isinstance(said, AnswerRefuted)
    best = said.earlier.best
    assert best is not None
    assert best.answer == answer(GOOD)
    assert best.scores.groundedness == 1.0
    assert [one.attempt for one in said.earlier.refuted] == [0]
    assert said.earlier.refuted[0].feedback == said.feedback
    assert INVENTED not in said.model_dump_json()


async def test_the_best_of_all_attempts_is_answered_and_marked_when_none_passes() -> None:
    first = await check(drafted(GOOD, INVENTED))
    second = await check(drafted(INVENTED, earlier=first.earlier), attempt=1)

    said = await check(drafted("Parking is free.", INVENTED, earlier=second.earlier), attempt=2)

    assert isinstance(said, AnswerVerified)
    assert (said.best_effort, said.answer, said.citations) == (True, answer(GOOD), (CITATION,))
    assert [one.attempt for one in said.refuted] == [0, 1, 2]
    assert 0 < said.confidence <= 5
    assert said.scores == first.earlier.best.scores


async def test_a_draft_that_passes_in_the_end_names_the_attempts_that_did_not() -> None:
    first = await check(drafted(INVENTED))

    said = await check(drafted(earlier=first.earlier), attempt=1)

    assert isinstance(said, AnswerVerified)
    assert (said.best_effort, said.confidence) == (False, 8.0)
    assert [one.feedback for one in said.refuted] == [first.feedback]


async def test_a_best_attempt_that_scores_too_little_is_not_shown() -> None:
    said = await check(drafted("Parking is free.", INVENTED), max_refutations=0, worth_showing=0.7)

    assert isinstance(said, AnswerVerified)
    assert said.answer.type == "not_found"


async def test_a_later_attempt_that_finds_nothing_does_not_take_back_an_earlier_one() -> None:
    first = await check(drafted(GOOD, INVENTED))
    nothing = Answer(content="I found nothing.", type="not_found")

    said = await check(drafted(answer=nothing, citations=(), earlier=first.earlier), attempt=1)

    assert (said.best_effort, said.answer) == (True, answer(GOOD))


async def test_a_citation_that_leads_elsewhere_goes_with_the_sentences_that_rest_on_it_alone() -> None:
    wrong = CITATION.model_copy(update={"number": 1, "url": "https://evil.example"})
    right = CITATION.model_copy(update={"number": 2})
    both = Answer(
        content=f"{GOOD} [2] Parking is free. [1]",
        sentences=(Sentence(text=GOOD, citations=(1, 2)), Sentence(text="Parking is free.", citations=(1,))),
    )

    said = await check(drafted(answer=both, citations=(wrong, right)), max_refutations=0)

    assert said.best_effort
    assert said.answer.content == f"{GOOD} [1]"
    assert said.citations == (CITATION,)


async def test_a_draft_that_holds_but_scores_too_little_is_refuted_and_kept_whole() -> None:
    said = await check(drafted("Parking is free at every office."))

    assert isinstance(said, AnswerRefuted)
    assert said.feedback.startswith("The answer says little of what the question asks. ")
    assert said.earlier.best is not None
    assert said.earlier.best.answer == answer("Parking is free at every office.")


async def test_the_same_quotation_again_is_not_tried_a_third_time() -> None:
    draft = drafted("Parking is free at every office.", engine="extractive")
    first = await check(draft)

    said = await check(draft.model_copy(update={"earlier": first.earlier}), attempt=1, worth_showing=0)

    assert isinstance(said, AnswerVerified)
    assert said.best_effort


async def test_no_attempt_is_begun_that_the_deadline_would_cut_off() -> None:
    """Given ten seconds left, when the last attempt took eight, then the best of it is answered now."""
    hurried = envelope(seconds=10, took_ms=8000)

    assert isinstance(await check(drafted(GOOD, INVENTED), where=hurried), AnswerVerified)
    assert isinstance(await check(drafted(GOOD, INVENTED), where=envelope(seconds=30, took_ms=8000)), AnswerRefuted)


async def test_what_is_carried_on_stays_small_enough_for_an_event() -> None:
    """Given a draft as long as can be, when it is refuted, then the refutation has room beside 44 kB of passages."""
    long = COST.model_copy(update={"text": COST.text + " Visitors may wait here." * 400})
    said = await check(
        drafted(GOOD, INVENTED, passages=tuple(long.model_copy(update={"id": f"p{n}"}) for n in range(1, 5)))
    )

    fact = opening("verifier", said, pipeline=envelope().pipeline, deadline_seconds=60)
    assert len(fact.encode()) < 18_000


async def test_a_draft_too_long_to_carry_on_is_not_kept() -> None:
    counters = [f"Counter {number} takes cards." for number in range(20, 520)]
    passage = COST.model_copy(update={"text": " ".join(counters)})

    said = await check(drafted(*counters, INVENTED, passages=(passage,)))

    assert said.earlier.best is None
    assert len(said.earlier.refuted) == 1


@pytest.mark.parametrize("language", ["eng", "und"])
async def test_an_answer_in_another_language_than_the_askers_is_sent_back(language: str) -> None:
    french = "Un passeport coûte 120 dollars et il est valable pour une durée de dix ans dans tous les pays."
    asked = ASKED.model_copy(update={"language": language})

    said = await check(drafted(french, question=asked), max_refutations=1)

    refuted = isinstance(said, AnswerRefuted) and "not in the asker's language" in said.feedback
    assert refuted == (language == "eng")


async def test_an_answer_in_the_askers_language_may_rest_on_passages_in_another() -> None:
    """Words of two languages cannot be compared; its numbers must still be there."""
    asked = ASKED.model_copy(update={"text": "Combien coûte un passeport ?", "language": "fra"})
    french = "Un passeport coûte {} dollars et il est valable pour dix ans dans tous les bureaux."

    assert isinstance(await check(drafted(french.format(120), question=asked)), AnswerVerified)
    assert isinstance(await check(drafted(french.format(130), question=asked)), AnswerRefuted)


async def test_structured_data_that_cites_nothing_passes_with_its_confidence() -> None:
    slots = Answer(
        content="These times are free.",
        type="structured",
        sentences=(Sentence(text="These times are free."),),
        payload={"type": "expert_availability", "slots": ["2026-03-02T10:00"]},
    )

    said = await check(drafted(answer=slots, citations=()))

    assert isinstance(said, AnswerVerified)
    assert (said.answer, said.confidence, said.best_effort) == (slots, 8.0, False)


async def test_structured_data_is_checked_as_far_as_it_cites_documents() -> None:
    def structured(*cited: str) -> Answer:
        said = (Sentence(text="These may help."), *(Sentence(text=text, citations=(1,)) for text in cited))
        return Answer(content="These may help.", type="structured", sentences=said, payload={"items": []})

    assert isinstance(await check(drafted(answer=structured(GOOD))), AnswerVerified)
    assert isinstance(await check(drafted(answer=structured(INVENTED))), AnswerRefuted)


async def test_attempts_are_empty_for_a_first_draft() -> None:
    assert drafted().earlier == Attempts()
