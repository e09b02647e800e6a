"""What experts prefer, and how far they agree."""

from __future__ import annotations

import random

import pytest

from shared.contracts.requests.reviews import SideChoice
from shared.operations.expert_preferences import agreement, by_expert, together

#: The examples of Krippendorff, Computing Krippendorff's Alpha-Reliability (2011): each row is an observer.
_TWO = ["0100000010", "1110010000"]
_FOUR = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]


def units(rows: list[str]) -> list[list[str]]:
    return [[value for value in column if value != "."] for column in zip(*rows, strict=True)]


def test_agreement_is_that_of_the_published_examples() -> None:
    assert agreement(units(_TWO)) == pytest.approx(0.095, abs=0.0005)
    assert agreement(units(_FOUR)) == pytest.approx(0.743, abs=0.0005)


def test_agreement_is_full_none_or_unknown() -> None:
    assert agreement([["live", "live"], ["tie", "tie"]]) == 1
    assert agreement([["live", "candidate"], ["candidate", "live"]]) == pytest.approx(-0.5)
    assert agreement([["live"], ["tie"]]) is None
    assert agreement([["live", "live"]]) is None


def test_experts_who_answer_at_random_do_not_agree() -> None:
    drawn = random.Random(7)
    said = [[drawn.choice(["live", "candidate", "tie"]) for _ in range(3)] for _ in range(2000)]
    found = agreement(said)
    assert found is not None
    assert abs(found) < 0.03


def test_each_pair_counts_once_however_many_experts_judged_it() -> None:
    judged: dict[str, dict[str, SideChoice]] = {
        "1": {"a": "candidate", "b": "candidate"},
        "2": {"a": "candidate", "b": "live"},
        "3": {"a": "tie", "b": "live"},
        "4": {"a": "bad", "b": "bad"},
        "5": {},
    }
    found = together(judged.values())
    counted = tuple(found[name] for name in ("pairs", "candidate", "tie", "bad", "live"))
    assert counted == (4, 1, 1, 1, 1)
    assert found["preference"] == 0.125
    assert (found["low"], found["says"]) == (None, "open")
    first, second = by_expert(judged)
    assert (first.expert, first.candidate, first.tie, first.bad, first.live) == ("a", 2, 1, 1, 0)
    assert (second.expert, second.preference) == ("b", -0.25)


def test_a_preference_is_sure_once_its_interval_leaves_zero() -> None:
    judged = [{"a": "candidate"} for _ in range(30)] + [{"a": "live"} for _ in range(2)]
    found = together(judged)  # type: ignore[arg-type]
    assert found["says"] == "better"
    assert 0 < found["low"] < found["preference"] < found["high"]
