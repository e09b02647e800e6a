"""Legs fail alone, and a search says which was missing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from services.retrieval.ports import Wanted
from services.retrieval.rankers.acronyms import AcronymSettings
from services.retrieval.rankers.progression import ProgressionSettings
from services.retrieval.retrievers.parallel import LinksLeg, ask_all
from services.retrieval.searcher import Searcher, Sought
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import UnavailableError

SETTINGS = RetrievalSettings()


def _passage(name: str, score: float = 1.0, text: str = "") -> Passage:
    return Passage(id=name, source=f"kb:{name}", text=text or f"text of {name}", score=score)


class FixedLeg:
    """Finds what it was made with; keeps what it was asked."""

    def __init__(self, name: str, *found: Passage) -> None:
        self.name = name
        self.found = found
        self.asked: list[Wanted] = []

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        self.asked.append(wanted)
        return self.found


class BrokenLeg(FixedLeg):
    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        raise UnavailableError(f"{self.name} is away")


class EndlessLeg(FixedLeg):
    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        await asyncio.Event().wait()
        return ()


class Visit(NamedTuple):
    id: str
    score: float


class FixedWalk:
    def __init__(self, *visits: tuple[str, float]) -> None:
        self.visits = [Visit(*one) for one in visits]
        self.seeds: list[str] = []

    async def expand(
        self, query_text: str, seeds: Sequence[Passage], limit: int, *, collections: Sequence[str] = ()
    ) -> list[Visit]:
        self.seeds = [one.id for one in seeds]
        return self.visits


class Shelf:
    """Where passages are read; keeps what was asked for."""

    def __init__(self, *passages: Passage) -> None:
        self.passages = {one.id: one for one in passages}
        self.asked: list[Sequence[str]] = []

    async def fetch(self, ids: Sequence[str]) -> list[Passage]:
        self.asked.append(ids)
        return [self.passages[one] for one in ids if one in self.passages]


async def test_leg_that_fails_or_is_late_is_missing_and_the_others_still_answer() -> None:
    legs = [FixedLeg("bm25", _passage("a")), BrokenLeg("dense"), EndlessLeg("graph")]
    found = await ask_all(legs, Wanted("x"), {"bm25": 1.0, "dense": 1.0, "graph": 0.001})
    assert [(one.leg, len(one.hits), one.missing) for one in found] == [
        ("bm25", 1, ""),
        ("dense", 0, "dense is away"),
        ("graph", 0, "took longer than 0.001 s"),
    ]


async def test_search_tells_in_its_trace_which_leg_was_missing() -> None:
    found = await Searcher([FixedLeg("bm25", _passage("a")), BrokenLeg("dense")]).search(Sought("x"), SETTINGS)
    assert [one.id for one in found.passages] == ["a"]
    assert found.trace["missing"] == {"dense": "dense is away"}
    assert found.trace["bm25"]["candidates"] == 1


async def test_search_goes_on_without_words_when_meaning_finds_something() -> None:
    found = await Searcher([BrokenLeg("bm25"), FixedLeg("dense", _passage("a"))]).search(Sought("x"), SETTINGS)
    assert [one.id for one in found.passages] == ["a"]


async def test_search_that_no_leg_can_do_is_an_error() -> None:
    with pytest.raises(UnavailableError, match="bm25 is away"):
        await Searcher([BrokenLeg("bm25"), BrokenLeg("dense")]).search(Sought("x"), SETTINGS)


async def test_search_asks_the_legs_named_only() -> None:
    words, meaning = FixedLeg("bm25", _passage("a")), FixedLeg("dense", _passage("b"))
    found = await Searcher([words, meaning]).search(Sought("x", only=("dense",)), SETTINGS)
    assert [one.id for one in found.passages] == ["b"]
    assert words.asked == []


async def test_walk_starts_from_what_was_found_and_brings_what_it_led_to() -> None:
    # Given a walk that leads from one passage to another
    walk = FixedWalk(("a", 0.5), ("linked", 0.3), ("gone", 0.2))
    legs = [FixedLeg("bm25", _passage("a"), _passage("b", 0.5))]
    searcher = Searcher(legs, LinksLeg(walk), shelf=Shelf(_passage("linked")))
    # When something is searched for
    found = await searcher.search(Sought("x"), SETTINGS)
    # Then the passage it led to is there, what is gone is not, and the rest follows
    assert walk.seeds == ["a", "b"]
    assert [one.id for one in found.passages] == ["a", "linked", "b"]
    assert found.passages[1].via == ("graph",)


async def test_search_explains_every_leg_and_judgement_with_ranks_and_times() -> None:
    searcher = Searcher([FixedLeg("bm25", _passage("a"), _passage("b", text="text of a"))], LinksLeg(FixedWalk()))
    found = await searcher.search(Sought("x", explain=True), SETTINGS)
    told = found.explanation()
    assert [leg.name for leg in told.legs] == ["bm25", "graph"]
    assert [(hit.rank, hit.id) for hit in told.legs[0].hits] == [(1, "a"), (2, "b")]
    names = [step.name for step in told.steps]
    assert names.index("fusion") < names.index("recency") < names.index("duplicates") < names.index("diversity")
    duplicates = told.steps[names.index("duplicates")]
    assert [one.id for one in duplicates.before] == ["a", "b"]
    assert [one.id for one in duplicates.after] == ["a"]
    assert duplicates.changes[0]["passage"] == "b"
    assert all(step.took_ms >= 0 for step in told.steps)


async def test_search_explains_nothing_unless_asked() -> None:
    found = await Searcher([FixedLeg("bm25", _passage("a"))]).search(Sought("x"), SETTINGS)
    assert found.steps == []


async def test_acronyms_are_spelled_out_for_the_legs() -> None:
    leg = FixedLeg("bm25", _passage("a"))
    settings = RetrievalSettings(acronyms=AcronymSettings(table="CRA,Canada Revenue Agency\n"))
    found = await Searcher([leg]).search(Sought("Who is the CRA?"), settings)
    assert "Canada Revenue Agency" in leg.asked[0].text
    assert "acronyms" in found.trace


async def test_a_question_gets_a_few_passages_first_where_the_pipeline_has_it_so_and_a_search_all() -> None:
    leg = FixedLeg("bm25", *(_passage(f"p{n}", 9 - n, f"parking {n} word{n}") for n in range(6)))
    settings = RetrievalSettings(progression=ProgressionSettings(first=2))
    assert len((await Searcher([leg]).search(Sought("parking"), settings)).passages) == 2
    assert len((await Searcher([leg]).search(Sought("parking", count=6), settings)).passages) == 6


def _bare(name: str, score: float = 1.0) -> Passage:
    return Passage(id=name, source="", text="", score=score, via=("bm25",))


async def test_only_as_many_passages_are_read_as_it_takes_to_find_enough() -> None:
    # Given many candidates, none of them read
    shelf = Shelf(*(_passage(f"p{number}", text=f"about {number}") for number in range(100)))
    leg = FixedLeg("bm25", *(_bare(f"p{number}", 1 - number / 100) for number in range(100)))
    # When a few are wanted
    found = await Searcher([leg], shelf=shelf).search(Sought("x"), SETTINGS)
    # Then these are read with how they were found, and not all the others
    assert [one.id for one in found.passages] == [f"p{number}" for number in range(6)]
    assert (found.passages[1].text, found.passages[1].score, found.passages[1].via) == ("about 1", 0.99, ("bm25",))
    assert [len(ids) for ids in shelf.asked] == [32]


async def test_the_rest_is_read_where_the_first_say_all_the_same() -> None:
    # Given a ranking that begins with forty copies of one passage
    shelf = Shelf(*(_passage(f"p{number}", text="same" if number < 40 else f"other {number}") for number in range(50)))
    leg = FixedLeg("bm25", *(_bare(f"p{number}", 1 - number / 100) for number in range(50)))
    found = await Searcher([leg], shelf=shelf).search(Sought("x", explain=False), SETTINGS)
    assert [one.id for one in found.passages] == ["p0", "p40", "p41", "p42", "p43", "p44"]


async def test_explanation_names_the_sources_of_everything_that_was_found() -> None:
    shelf = Shelf(*(_passage(f"p{number}") for number in range(50)))
    searcher = Searcher([FixedLeg("bm25", *(_bare(f"p{number}") for number in range(50)))], shelf=shelf)
    told = (await searcher.search(Sought("x", explain=True), SETTINGS)).explanation()
    assert [hit.source for hit in told.legs[0].hits] == [f"kb:p{number}" for number in range(50)]
