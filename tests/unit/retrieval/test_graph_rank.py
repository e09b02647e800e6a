"""The walk: where it goes and how often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.graph.ports import Edge, Neighbourhood
from services.retrieval.graph.rank import MIN_MASS, Links, links_between, rareness, walk

PASSAGES = st.sampled_from([f"p{number}" for number in range(6)])
EDGES = st.lists(st.builds(Edge, PASSAGES, st.sampled_from("xyz"), st.sampled_from([0.0, 0.2, 1.0])), max_size=30).map(
    lambda edges: Neighbourhood(tuple(dict.fromkeys(edges)), {"x": 1, "y": 5, "z": 200})
)


def _around(*edges: tuple[str, str, float], **mentioned: int) -> Neighbourhood:
    return Neighbourhood(tuple(Edge(*edge) for edge in edges), mentioned)


def _links(known: dict[str, list[tuple[str, float]]]) -> Links:
    return lambda passage: known.get(passage, [])


def test_walk_without_links_stays_at_its_seeds() -> None:
    assert walk({"a": 3.0, "b": 1.0}, _links({})) == {"a": 0.375, "b": 0.125}


def test_walk_without_seeds_goes_nowhere() -> None:
    assert walk({}, _links({"a": [("b", 1.0)]})) == {}


def test_walk_follows_a_link_with_half_its_mass() -> None:
    assert walk({"a": 1.0}, _links({"a": [("b", 1.0)]})) == {"a": 0.5, "b": 0.25}


def test_walk_meets_what_two_seeds_lead_to_more_often() -> None:
    visits = walk({"a": 1.0, "b": 1.0}, _links({"a": [("c", 1.0)], "b": [("c", 0.5), ("d", 0.5)]}))
    assert visits["c"] > visits["d"]


def test_link_goes_from_the_mention_to_the_definition_and_less_often_back() -> None:
    links = links_between(_around(("here", "x", 0.0), ("there", "x", 1.0), x=1))
    assert links("here") == [("there", 1.0)]
    assert dict(links("there")) == {"here": pytest.approx(0.3)}


def test_links_to_what_many_passages_mention_count_less() -> None:
    around = _around(
        ("here", "rare", 0.0), ("here", "usual", 0.0), ("r", "rare", 1.0), ("u", "usual", 1.0), rare=1, usual=50
    )
    shares = dict(links_between(around)("here"))
    assert shares["r"] > 10 * shares["u"]


def test_passage_with_weak_links_only_is_seldom_left() -> None:
    (link,) = links_between(_around(("here", "x", 0.0), ("there", "x", 0.2), x=100))("here")
    assert link[1] < 0.01


def test_link_is_parted_among_those_who_define_the_name() -> None:
    around = _around(("here", "x", 0.0), ("one", "x", 1.0), ("two", "x", 1.0), x=1)
    assert links_between(around)("here") == [("one", 0.5), ("two", 0.5)]


def test_passage_is_not_linked_to_itself() -> None:
    assert links_between(_around(("here", "x", 0.0), ("here", "x", 1.0), x=1))("here") == []


def test_rareness_falls_with_every_mention() -> None:
    assert rareness(0) == rareness(1) == 1
    assert rareness(1) > rareness(2) > rareness(1000) > 0


def test_walk_does_not_follow_negligible_mass() -> None:
    asked: list[str] = []

    def links(passage: str) -> list[tuple[str, float]]:
        asked.append(passage)
        return [(f"{passage}!", 0.1)]

    visits = walk({"a": 1.0}, links)
    assert asked == [passage for passage, visit in visits.items() if visit >= MIN_MASS]
    assert 0 < min(visits.values()) < MIN_MASS


@given(EDGES, st.dictionaries(PASSAGES, st.floats(0.01, 1), min_size=1))
def test_walk_never_visits_more_than_once_altogether(around: Neighbourhood, seeds: dict[str, float]) -> None:
    links = links_between(around)
    assert all(sum(share for _, share in links(passage)) <= 1 + 1e-9 for passage in around.passages)
    visits = walk(seeds, links)
    assert sum(visits.values()) <= 1 + 1e-9
    assert all(visits[seed] > 0 for seed in seeds)
