"""Passages that were read are kept until the index is written to."""

from __future__ import annotations

from collections.abc import Sequence

from services.retrieval.stores.points import StoredPassage
from services.retrieval.stores.read_passages import ReadPassages
from shared.contracts.domain import Passage


def passage(name: str, text: str = "") -> StoredPassage:
    return StoredPassage(Passage(id=name, source=f"kb:{name}", text=text or name), (), "", frozenset())


class Store:
    """Counts what is read of it."""

    def __init__(self, *names: str) -> None:
        self.passages = {name: passage(name) for name in names}
        self.asked: list[str] = []

    def retrieve(self, ids: Sequence[str]) -> list[StoredPassage]:
        self.asked += ids
        return [self.passages[one] for one in ids if one in self.passages]


def test_a_passage_is_read_once() -> None:
    store, kept = Store("a", "b", "c"), ReadPassages()

    assert kept.all(["a", "b"]) is None
    assert kept.read(["a", "b"], store.retrieve) == [passage("a"), passage("b")]
    assert kept.all(["b", "a"]) == [passage("b"), passage("a")]
    assert sorted(one.passage.id for one in kept.read(["a", "c"], store.retrieve)) == ["a", "c"]

    assert store.asked == ["a", "b", "c"]


def test_a_passage_that_is_not_there_is_looked_for_again() -> None:
    store, kept = Store(), ReadPassages()
    assert kept.read(["late"], store.retrieve) == []
    store.passages["late"] = passage("late")

    assert kept.read(["late"], store.retrieve) == [passage("late")]


def test_after_a_write_everything_is_read_again() -> None:
    store, kept = Store("a"), ReadPassages()
    kept.read(["a"], store.retrieve)
    store.passages["a"] = passage("a", "new text")

    kept.clear()

    assert kept.all(["a"]) is None
    assert kept.read(["a"], store.retrieve) == [passage("a", "new text")]


def test_what_is_read_while_the_index_is_written_to_is_not_kept() -> None:
    store, kept = Store("a"), ReadPassages()

    def read_meanwhile(ids: Sequence[str]) -> list[StoredPassage]:
        found = store.retrieve(ids)
        kept.clear()
        return found

    assert kept.read(["a"], read_meanwhile) == [passage("a")]
    assert kept.all(["a"]) is None


def test_no_more_passages_are_kept_than_the_capacity() -> None:
    store, kept = Store("a", "b", "c"), ReadPassages(capacity=2)

    kept.read(["a", "b", "c"], store.retrieve)

    assert kept.all(["a"]) is None
    assert kept.all(["b", "c"]) == [passage("b"), passage("c")]
