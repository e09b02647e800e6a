"""Names: how they are compared, and how they are found in texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.graph.names import NameIndex, first_mentions, is_name, key, spans
from shared.language.analysis import words

SAID = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=14)
NAMES = st.sets(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4).map(" ".join))


@pytest.mark.parametrize(
    ("name", "compared"),
    [("Préfecture de Police", "prefecture de police"), ("C.I.A.", "c i a"), ("  The  Gate! ", "the gate")],
)
def test_key_is_the_same_however_a_name_is_written(name: str, compared: str) -> None:
    assert key(name) == compared


@pytest.mark.parametrize("name", ["Ada Whitfield", "HQ", "Caching", "Water level 3", "The Gate"])
def test_names_qualify(name: str) -> None:
    assert is_name(name, key(name))


@pytest.mark.parametrize(
    "name",
    ["", "1984", "of the", "Introduction", "See also", "ab", "IT", "word " * 11, "?!"],
)
def test_generic_texts_and_numbers_do_not_qualify(name: str) -> None:
    assert not is_name(name, key(name))


def test_name_index_finds_names_at_word_boundaries_only() -> None:
    index = NameIndex(["art", "river gauge"])
    assert list(index.find(words("Start of a party, riverside gauge, river gauges"))) == []
    assert [each.key for each in index.find(words("The art of the RIVER-GAUGE."))] == ["art", "river gauge"]


def test_name_index_finds_names_within_names_and_leaves_them_out_when_asked() -> None:
    index = NameIndex(["new york", "new york city", "city hall"])
    spoken = words("in New York City Hall")
    assert [each.key for each in index.find(spoken)] == ["new york city", "new york", "city hall"]
    assert [each.key for each in index.find_longest(spoken)] == ["new york city"]


def test_name_index_discards_names() -> None:
    index = NameIndex(["river gauge", "river"])
    index.discard("river gauge")
    index.discard("never known")
    assert [each.key for each in index.find(["river", "gauge"])] == ["river"]
    assert "river gauge" not in index
    assert len(index) == 1


@given(SAID, NAMES)
def test_name_index_finds_the_same_as_a_search_for_each_name(spoken: list[str], names: set[str]) -> None:
    one_by_one = {
        (start, start + len(name.split()), name)
        for name in names
        for start in range(len(spoken))
        if spoken[start : start + len(name.split())] == name.split()
    }
    assert {tuple(each) for each in NameIndex(names).find(spoken)} == one_by_one


@given(SAID.map(lambda spoken: [f"{word}x" for word in spoken]))
def test_spans_are_all_that_could_be_a_name(spoken: list[str]) -> None:
    assert spans(spoken) == {
        " ".join(spoken[start:end])
        for start in range(len(spoken))
        for end in range(start + 1, min(start + 10, len(spoken)) + 1)
    }


def test_first_mentions_leave_out_a_texts_own_names() -> None:
    index = NameIndex(["river", "gauge"])
    assert first_mentions(index, words("the gauge in the river in the gauge"), {"river"}) == {"gauge": 1}
