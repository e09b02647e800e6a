"""When a worker says that nothing is stored."""

from __future__ import annotations

from shared.observability.store_writes import FAILING_SECONDS, KNOWN_SECONDS, STORES_NOTHING, StoreWrites


class Clock:
    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


def failing() -> tuple[StoreWrites, Clock]:
    clock = Clock()
    writes = StoreWrites(clock)
    writes.failed()
    clock.now += FAILING_SECONDS
    writes.failed()
    return writes, clock


def test_one_failure_is_none() -> None:
    clock = Clock()
    writes = StoreWrites(clock)
    assert writes.fault() == ""
    writes.failed()
    clock.now += FAILING_SECONDS
    assert writes.fault() == ""


def test_failures_over_some_seconds_are_said_until_something_is_stored() -> None:
    writes, _ = failing()
    assert writes.fault() == STORES_NOTHING

    writes.succeeded()
    assert writes.fault() == ""


def test_what_nobody_has_tried_for_long_is_not_known() -> None:
    writes, clock = failing()
    clock.now += KNOWN_SECONDS + 1

    assert writes.fault() == ""
