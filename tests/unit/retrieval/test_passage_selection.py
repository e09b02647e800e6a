"""Which passages found are kept, and how much of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.budget import PASSAGE_BYTES, shortened, within_budget
from services.retrieval.diversity import diverse
from shared.domain import Passage


def _passage(text: str, source: str = "kb:a", start: int = 0) -> Passage:
    return Passage(id=f"{source}/{text[:20]}", source=source, text=text, start=start, end=start + len(text))


def _diverse(*passages: Passage, count: int = 6, per_source: int = 3) -> list[Passage]:
    return diverse(passages, count=count, per_source=per_source, duplicate_share=0.9)


def test_diverse_leaves_out_what_says_the_same_in_other_type() -> None:
    one = _passage("The office is open from nine to five on working days.")
    same = _passage("THE OFFICE is open, from nine to five, on working days!", "kb:b")
    other = _passage("The office is closed on Sunday.", "kb:c")
    assert _diverse(one, same, other) == [one, other]


def test_diverse_takes_no_more_of_a_source_than_allowed_and_no_more_in_all() -> None:
    passages = [_passage(f"word{number} unlike{number}", f"kb:{number // 4}") for number in range(12)]
    assert [each.source for each in _diverse(*passages, count=5, per_source=2)] == [
        "kb:0",
        "kb:0",
        "kb:1",
        "kb:1",
        "kb:2",
    ]


def test_shortened_ends_with_a_sentence_and_keeps_the_offsets_exact() -> None:
    text = "First sentence. Second sentence. Third sentence."
    cut = shortened(_passage(text, start=100), 40)
    assert cut.text == "First sentence. Second sentence."
    assert (cut.start, cut.end) == (100, 100 + len(cut.text))


def test_shortened_cuts_within_a_sentence_when_not_even_the_first_ends() -> None:
    assert shortened(_passage("x" * 50), 20).text == "x" * 20


def test_shortened_leaves_a_short_passage_as_it_is() -> None:
    passage = _passage("Short.")
    assert shortened(passage, 6) is passage


@given(texts=st.lists(st.text(alphabet=st.sampled_from('a"é税\x01 .'), min_size=1, max_size=4000), max_size=12))
def test_within_budget_never_exceeds_the_bytes_whatever_the_text(texts: list[str]) -> None:
    passages = [_passage(text, f"kb:{number}") for number, text in enumerate(texts)]
    fitting = within_budget(passages, max_chars=2000, max_bytes=9000)
    assert sum(len(each.model_dump_json().encode()) for each in fitting) <= 9000
    assert [each.source for each in fitting] == [each.source for each in passages[: len(fitting)]]


def test_within_budget_lets_six_usual_passages_through_untouched() -> None:
    passages = [_passage("mot é " * 85, f"kb:{number}") for number in range(6)]
    assert within_budget(passages, max_chars=2000) == passages
    assert PASSAGE_BYTES < 64_000
