"""Several rankings as one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.ports import Hit, Ranked
from services.retrieval.rank_fusion import By, fuse, joined, walked
from shared.contracts.domain import Passage


def _ranking(*names: str, best: float = 9.0, via: str = "bm25") -> list[Passage]:
    return [Passage(id=name, source=name, text=name, score=best - n, via=(via,)) for n, name in enumerate(names)]


def _ids(passages: Sequence[Ranked]) -> list[str]:
    return [one.id for one in passages]


def test_fuse_puts_first_what_both_retrievers_found() -> None:
    fused = fuse({"bm25": _ranking("a", "b", "c"), "dense": _ranking("d", "b", via="dense")}, by="ranks")
    assert _ids(fused) == ["b", "a", "d", "c"]
    assert fused[0].via == ("bm25", "dense")
    assert fused[2].via == ("dense",)


def test_first_places_stand_out_more_with_a_smaller_constant() -> None:
    rankings = {"bm25": _ranking("a", "b", "c"), "dense": _ranking("c", "b", "a", via="dense")}
    # b is second in both: 2/(k + 2) against 1/(k + 1) + 1/(k + 3)
    assert _ids(fuse(rankings, by="ranks", k=1))[0] == "a"
    first = fuse({"bm25": _ranking("a", "b"), "dense": _ranking("b", via="dense")}, by="ranks", k=60)
    assert [(one.id, one.score) for one in first] == [("b", 0.9919), ("a", 0.5)]


def test_fuse_by_scores_keeps_how_far_the_passages_of_a_retriever_lie_apart() -> None:
    words = [
        one.model_copy(update={"score": score}) for one, score in zip(_ranking("a", "b", "c"), (9, 2, 1), strict=True)
    ]
    meaning = [
        one.model_copy(update={"score": score})
        for one, score in zip(_ranking("b", "a", "d"), (0.8, 0.7, 0.6), strict=True)
    ]
    fused = fuse({"bm25": words, "dense": meaning})
    assert [(one.id, one.score) for one in fused] == [("a", 0.75), ("b", 0.5625), ("c", 0.0), ("d", 0.0)]


def test_fuse_gives_the_first_of_all_retrievers_a_score_of_one() -> None:
    assert fuse({"bm25": _ranking("a", "b"), "dense": _ranking("a")})[0].score == 1.0


def test_fuse_leaves_the_ranking_of_one_retriever_as_it_is() -> None:
    assert fuse({"bm25": _ranking("a", "b"), "dense": []}) == _ranking("a", "b")
    assert fuse({}) == []


def test_fuse_applies_the_weights_of_retrievers() -> None:
    rankings = {"bm25": _ranking("a"), "dense": _ranking("b")}
    assert _ids(fuse(rankings, weights={"dense": 2.0})) == ["b", "a"]


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(one=NAMES, other=NAMES, by=st.sampled_from(["scores", "ranks"]))
def test_fuse_loses_and_invents_nothing_and_never_puts_a_passage_above_one_that_beats_it_everywhere(
    one: list[str], other: list[str], by: By
) -> None:
    order = _ids(fuse({"bm25": _ranking(*one), "dense": _ranking(*other)}, by=by))
    assert sorted(order) == sorted({*one, *other})
    both = [name for name in one if name in other]
    for name in both:
        for worse in both:
            if one.index(name) < one.index(worse) and other.index(name) < other.index(worse):
                assert order.index(name) < order.index(worse)


def test_walked_follows_the_walk_and_appends_the_seeds_it_had_no_room_for() -> None:
    seeds = _ranking("a", "b", "c", "d")
    visited = [
        seeds[1].model_copy(update={"score": 0.5}),
        Passage(id="new", source="new", text="new", score=0.3),
        seeds[0].model_copy(update={"score": 0.2}),
    ]
    order = walked(seeds, visited)
    assert _ids(order) == ["b", "new", "a", "c", "d"]
    assert [one.via for one in order[:3]] == [("bm25", "graph"), ("graph",), ("bm25",)]
    assert [one.score for one in order] == sorted((one.score for one in order), reverse=True)
    assert order[0].score == 1.0


def test_walked_leaves_the_seeds_as_they_are_when_the_walk_found_nothing() -> None:
    assert walked(_ranking("a", "b"), []) == _ranking("a", "b")


def test_no_more_than_the_limit_are_fused_or_walked_and_those_are_the_best() -> None:
    rankings = {"bm25": _ranking("a", "b", "c"), "dense": _ranking("d", "b", via="dense")}
    assert fuse(rankings, by="ranks", limit=2) == fuse(rankings, by="ranks")[:2]
    seeds = _ranking("a", "b", "c", "d")
    assert walked(seeds, seeds[1:2], limit=3) == walked(seeds, seeds[1:2])[:3]
    assert _ids(walked(seeds, seeds[1:2], limit=1)) == ["b"]


def test_what_was_not_read_yet_is_fused_as_passages_are() -> None:
    read = {"bm25": _ranking("a", "b", "c"), "dense": _ranking("d", "b", via="dense")}
    unread = {name: [Hit(one.id, one.score, one.via) for one in ranking] for name, ranking in read.items()}
    for fused in (fuse, lambda rankings: joined({"seeds": rankings["bm25"], "graph": rankings["dense"]})):
        assert [(one.id, one.score, one.via) for one in fused(read)] == [tuple(one) for one in fused(unread)]
    assert [one.id for one in walked(unread["bm25"], unread["dense"])] == ["d", "b", "a", "c"]
