"""Background work takes what it can while nobody asks, and makes way while somebody does."""

from __future__ import annotations

from shared.bus.background_throttle import QUIET_AFTER, BackgroundAllowance, BackgroundThrottle


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pair(places: int = 32, per_second: float = 10) -> tuple[BackgroundThrottle, BackgroundAllowance, Clock]:
    clock = Clock()
    throttle = BackgroundThrottle(per_second, clock)
    return throttle, BackgroundAllowance(throttle, places), clock


def test_while_nobody_asks_all_places_are_asked_for_at_once() -> None:
    _, background, _ = pair()

    assert background.allowed(0) == (32, 0.0)
    assert background.allowed(30) == (2, 0.0)


def test_while_somebody_asks_background_work_comes_one_by_one_at_its_pace() -> None:
    throttle, background, clock = pair()
    throttle.live_started()

    assert background.allowed(0) == (1, 0.0)
    asked, wait = background.allowed(0)
    assert (asked, round(wait, 6)) == (0, 0.1)
    clock.now += 0.11
    assert background.allowed(0) == (1, 0.0)


def test_while_somebody_asks_slow_background_work_holds_an_eighth_of_its_places() -> None:
    throttle, background, clock = pair(places=32)
    throttle.live_started()

    held = 0
    for _ in range(20):
        held += background.allowed(held)[0]
        clock.now += 1

    assert held == 4


def test_background_work_goes_on_as_before_some_seconds_after_the_last_live_question() -> None:
    throttle, background, clock = pair()
    throttle.live_started()
    throttle.live_finished()

    background.allowed(0)
    assert background.allowed(0)[0] == 0
    clock.now += QUIET_AFTER
    assert background.allowed(0) == (32, 0.0)


def test_zero_a_second_turns_the_courtesy_off() -> None:
    throttle, background, _ = pair(per_second=0)
    throttle.live_started()

    assert background.allowed(0) == (32, 0.0)
