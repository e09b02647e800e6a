"""What a sentence denies, and which opposites it has."""

from __future__ import annotations

import pytest

from shared.language.polarity import opposed, polarity, turned_round


@pytest.mark.parametrize(
    ("language", "stated", "evidence"),
    [
        ("eng", "Films can be renewed.", "Films cannot be renewed."),
        ("eng", "Messages are not encrypted.", "Messages are encrypted at rest."),
        ("eng", "Every prompt and reply is logged.", "No prompt, reply or key is logged."),
        ("eng", "A replay books a slot.", "A replay books nothing."),
        ("fra", "Les espèces sont acceptées.", "Les espèces ne sont pas acceptées."),
        ("spa", "El abono es válido.", "El abono no es válido en los trenes nocturnos."),
        ("deu", "Online ist das möglich.", "Online ist das nicht möglich."),
    ],
)
def test_a_denial_that_is_left_out_or_put_in_turns_a_sentence_round(language: str, stated: str, evidence: str) -> None:
    assert turned_round(polarity(stated, language), polarity(evidence, language))
    assert turned_round(polarity(evidence, language), polarity(stated, language))


@pytest.mark.parametrize(
    ("stated", "evidence"),
    [
        ("Messages are stored without notifications.", "Messages are stored, but no notifications are sent."),
        ("Replies are never logged.", "No prompt, reply or key is logged."),
        ("It does not book anything.", "A replay books nothing."),
        ("Only an administrator can start it.", "It can only be started by an administrator."),
        ("Not only residents may apply.", "Residents may apply."),
        ("Answers may be worse.", "Answers may be worse, but no question is lost."),
    ],
)
def test_the_same_in_other_words_does_not(stated: str, evidence: str) -> None:
    assert not turned_round(polarity(stated, "eng"), polarity(evidence, "eng"))


def test_opposites_are_found_in_place_of_each_other() -> None:
    assert opposed(polarity("The library is open.", "eng"), polarity("It is closed on Sundays.", "eng")) == {"open"}
    assert not opposed(polarity("It is open or closed.", "eng"), polarity("It is closed.", "eng"))
