"""The list of slow tests follows what the tests took."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.slow_tests import listed, updated


@pytest.mark.parametrize(
    ("known", "took", "whole", "expected"),
    [
        (set(), {"a": 1.2, "b": 0.9}, True, {"a"}),
        ({"a"}, {"a": 0.7}, True, {"a"}),
        ({"a"}, {"a": 0.4}, True, set()),
        ({"a", "gone"}, {"a": 3.0}, True, {"a"}),
        ({"a", "not run"}, {"a": 3.0}, False, {"a", "not run"}),
        ({"a"}, {}, False, {"a"}),
    ],
)
def test_a_test_is_listed_above_a_second_and_until_it_takes_less_than_half_of_one(
    known: set[str], took: Mapping[str, float], whole: bool, expected: set[str]
) -> None:
    assert updated(known, took, whole=whole) == expected


def test_listed_tests_are_in_files_that_exist() -> None:
    assert listed()


def test_a_listed_test_is_marked(request: pytest.FixtureRequest) -> None:
    marked = {item.nodeid for item in request.session.items if item.get_closest_marker("slow")}

    assert marked == {item.nodeid for item in request.session.items} & listed()
