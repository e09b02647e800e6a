"""Copies of passages that a search makes by the hundred."""

from __future__ import annotations

from shared.contracts.domain import Passage

WHOLE = Passage(id="a", source="kb:a", text="Said.", title="A", score=0.5, via=("bm25",), metadata={"kind": "note"})


def test_a_rescored_passage_is_what_a_validated_copy_is() -> None:
    assert WHOLE.rescored(2.0, ("graph",)) == WHOLE.model_copy(update={"score": 2.0, "via": ("graph",)})
    assert WHOLE.rescored(2.0) == WHOLE.model_copy(update={"score": 2.0})
    assert WHOLE.rescored(2.0).model_dump_json() == WHOLE.model_copy(update={"score": 2.0}).model_dump_json()
    assert WHOLE.score == 0.5


def test_a_passage_of_a_kind_of_its_own_stays_one() -> None:
    class Special(Passage):
        answer: str = ""

    special = Special(id="a", source="kb:a", text="", answer="Yes.")

    assert special.rescored(1.0) == special.model_copy(update={"score": 1.0})


def test_an_unread_passage_is_one_without_source_and_text() -> None:
    assert Passage.unread("a", 0.7, ("bm25",)) == Passage(id="a", source="", text="", score=0.7, via=("bm25",))
