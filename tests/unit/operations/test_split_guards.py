"""The guards of a split: a worse candidate is halted soon, an equal one almost never, however often one looks."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from shared.contracts.experiments import ArmFigures
from shared.operations.confidence_sequence import LEAST, estimate, share_estimate
from shared.operations.split_guards import breach, detectable_share, differences


@dataclass(frozen=True)
class Behaviour:
    """How often questions of an arm fail, are refuted, take longer than the limit, and are rated down."""

    errors: float = 0.01
    refutations: float = 0.1
    slow: float = 0.02
    thumbs_down: float = 0.03


def simulated(seed: int, candidate: Behaviour, *, share: float, most: int, every: int) -> tuple[int, str]:
    """After how many questions of the candidate a guard halts, and which; (0, ""): none does."""
    chance = random.Random(seed)
    names = ("errors", "refutations", "slow", "thumbs_down")
    counts = {arm: dict.fromkeys(("questions", *names), 0) for arm in ("live", "candidate")}
    for number in range(1, most + 1):
        arm, like = ("candidate", candidate) if chance.random() < share else ("live", Behaviour())
        counts[arm]["questions"] += 1
        for name in names:
            counts[arm][name] += chance.random() < getattr(like, name)
        if number % every == 0 and (found := breach([ArmFigures(arm=one, **counts[one]) for one in counts])):
            return counts["candidate"]["questions"], found.guard
    return 0, ""


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_an_equal_candidate_is_halted_in_at_most_five_of_a_hundred_splits_looked_at_every_ten_questions(
    share: float,
) -> None:
    halts = [simulated(seed, Behaviour(), share=share, most=1500, every=10) for seed in range(200)]
    assert sum(bool(count) for count, _ in halts) <= 10


@pytest.mark.parametrize(
    ("candidate", "guard"),
    [
        (Behaviour(errors=0.5), "errors"),
        (Behaviour(refutations=0.7), "refutations"),
        (Behaviour(slow=0.6), "slow"),
        (Behaviour(thumbs_down=0.5), "thumbs_down"),
    ],
    ids=["fails", "is refuted", "is slow", "is disliked"],
)
def test_a_candidate_that_is_much_worse_is_halted_within_a_hundred_of_its_questions(
    candidate: Behaviour, guard: str
) -> None:
    halts = [simulated(seed, candidate, share=0.1, most=1500, every=1) for seed in range(20)]
    assert all(LEAST <= count <= 100 and halted == guard for count, halted in halts), halts


def test_a_candidate_whose_tail_is_only_a_little_heavier_than_a_light_one_is_not_slow() -> None:
    arms = [
        ArmFigures(arm="live", questions=100_000, slow=1000),
        ArmFigures(arm="candidate", questions=100_000, slow=3000),
    ]
    slow = next(one for one in differences(arms) if one.measure == "slow")
    assert slow.says == "worse"
    assert breach(arms) is None


def test_nothing_is_said_before_each_arm_has_twenty_questions() -> None:
    arms = [ArmFigures(arm="live", questions=500), ArmFigures(arm="candidate", questions=LEAST - 1, errors=LEAST - 1)]
    assert breach(arms) is None
    arms[1] = ArmFigures(arm="candidate", questions=LEAST, errors=LEAST)
    found = breach(arms)
    assert found is not None
    assert (found.guard, found.arm) == ("errors", "candidate")


def test_what_is_called_detectable_is_halted_in_about_four_of_five_splits() -> None:
    more = detectable_share(1800, 200, 0.05)
    halted = 0
    for seed in range(100):
        chance = random.Random(seed)
        live = sum(chance.random() < 0.05 for _ in range(1800))
        candidate = sum(chance.random() < 0.05 + more for _ in range(200))
        arms = [ArmFigures(arm="live", questions=1800, errors=live)]
        arms.append(ArmFigures(arm="candidate", questions=200, errors=candidate))
        halted += breach(arms) is not None
    assert 65 <= halted <= 95
    assert detectable_share(18_000, 2000, 0.05) < more


def test_a_share_is_estimated_as_zeros_and_ones_are() -> None:
    same, counted = estimate([1.0] * 12 + [0.0] * 48), share_estimate(12, 60)
    assert (counted.mean, counted.deviation) == pytest.approx((same.mean, same.deviation))
    assert (counted.low, counted.high) == pytest.approx((same.low, same.high))
    assert share_estimate(0, 0).count == 0
