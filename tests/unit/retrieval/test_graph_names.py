"""Names: how they are compared, and how they are found in texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.graph.names import NameIndex, first_mentions, is_name, key, spans
from shared.text.analysis import words

SAID = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=14)
NAMES = st.sets(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4).map(" ".join))


@pytest.mark.parametrize(
    ("name", "compared"),
    [("Préfecture de Police", "prefecture de police"), ("C.I.A.", "c i a"), ("  The  Gate! ", "the gate")],
)
def test_key_is_the_same_however_a_name_is_written(name: str, compared: str) -> None:
    assert key(name) == compared


@pytest.mark.parametrize("name", ["Ada Whitfield", "HQ", "Caching", "Water level 3", "The Gate"])
def test_what_can_be_a_name_is_one(name: str) -> None:
    assert is_name(name, key(name))


@pytest.mark.parametrize(
    "name",
    ["", "1984", "of the", "Introduction", "See also", "ab", "IT", "word " * 11, "?!"],
)
def test_what_would_link_everything_or_nothing_is_no_name(name: str) -> None:
    assert not is_name(name, key(name))


def test_lexicon_finds_names_at_word_boundaries_only() -> None:
    lexicon = NameIndex(["art", "river gauge"])
    assert list(lexicon.find(words("Start of a party, riverside gauge, river gauges"))) == []
    assert [each.key for each in lexicon.find(words("The art of the RIVER-GAUGE."))] == ["art", "river gauge"]


def test_lexicon_finds_names_within_names_and_leaves_them_out_when_asked() -> None:
    lexicon = NameIndex(["new york", "new york city", "city hall"])
    said = words("in New York City Hall")
    assert [each.key for each in lexicon.find(said)] == ["new york city", "new york", "city hall"]
    assert [each.key for each in lexicon.find_longest(said)] == ["new york city"]


def test_lexicon_forgets_names() -> None:
    lexicon = NameIndex(["river gauge", "river"])
    lexicon.discard("river gauge")
    lexicon.discard("never known")
    assert [each.key for each in lexicon.find(["river", "gauge"])] == ["river"]
    assert "river gauge" not in lexicon
    assert len(lexicon) == 1


@given(SAID, NAMES)
def test_lexicon_finds_exactly_what_a_search_for_each_name_would(said: list[str], names: set[str]) -> None:
    one_by_one = {
        (start, start + len(name.split()), name)
        for name in names
        for start in range(len(said))
        if said[start : start + len(name.split())] == name.split()
    }
    assert {tuple(each) for each in NameIndex(names).find(said)} == one_by_one


@given(SAID.map(lambda said: [f"{word}x" for word in said]))
def test_spans_are_all_that_could_be_a_name(said: list[str]) -> None:
    assert spans(said) == {
        " ".join(said[start:end])
        for start in range(len(said))
        for end in range(start + 1, min(start + 10, len(said)) + 1)
    }


def test_first_mentions_leave_out_a_texts_own_names() -> None:
    lexicon = NameIndex(["river", "gauge"])
    assert first_mentions(lexicon, words("the gauge in the river in the gauge"), {"river"}) == {"gauge": 1}
