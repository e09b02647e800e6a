"""Who gets which arm of a split: always the same one, and each arm its share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shared.contracts.domain import PipelineRef
from shared.contracts.experiments import Experiment, SplitArm, decode_experiments, encode_experiments

STARTED = datetime(2026, 3, 1, tzinfo=UTC)


def split(*shares: float, number: int = 1) -> Experiment:
    arms = tuple(
        SplitArm(name=f"arm{at}", pipeline=PipelineRef(name=f"arm{at}", revision=1), share=share)
        for at, share in enumerate(shares)
    )
    return Experiment(id=f"{number:032x}", name="trial", pipeline="arm0", arms=arms, started_at=STARTED)


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.5, 0.5), (0.6, 0.3, 0.1)])
def test_each_arm_gets_its_share_of_the_users(shares: tuple[float, ...]) -> None:
    experiment = split(*shares)
    counts = dict.fromkeys((arm.name for arm in experiment.arms), 0)
    for number in range(10_000):
        counts[experiment.arm_for(f"user-{number}").name] += 1
    for arm in experiment.arms:
        assert abs(counts[arm.name] / 10_000 - arm.share) < 0.02


def test_a_user_keeps_the_arm_and_another_experiment_draws_anew() -> None:
    first, second = split(0.5, 0.5), split(0.5, 0.5, number=2)
    users = [f"user-{number}" for number in range(200)]
    drawn = [first.arm_for(user).name for user in users]
    assert drawn == [first.arm_for(user).name for user in users]
    same = sum(first.arm_for(user).name == second.arm_for(user).name for user in users)
    assert 60 < same < 140


def test_what_is_stored_is_read_as_it_was() -> None:
    experiments = (split(0.9, 0.1), split(1.0, 0.0, number=2))
    assert decode_experiments(encode_experiments(experiments)) == experiments
    assert decode_experiments(None) == ()


def test_an_ending_is_to_be_announced_once_and_a_promotion_only_with_its_revision() -> None:
    running = split(0.5, 0.5)
    assert not running.to_announce
    stopped = running.model_copy(update={"status": "stopped"})
    assert stopped.to_announce
    assert not stopped.model_copy(update={"announced": True}).to_announce
    promoted = running.model_copy(update={"status": "promoted"})
    assert not promoted.to_announce
    assert promoted.model_copy(update={"revision": 7}).to_announce
