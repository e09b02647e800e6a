"""A table of cases is one test that names every case that fails."""

from __future__ import annotations

import inspect

import pytest

from tests.support.table import table


def test_every_case_is_tried_and_those_that_fail_are_listed() -> None:
    tried: list[int] = []

    @table("number", [1, 2, 3, 4])
    def even(number: int) -> None:
        tried.append(number)
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"2 of 4 cases fail:\n1: AssertionError: odd.*\n(?s:.*)3: AssertionError"):
        even()
    assert tried == [1, 2, 3, 4]


def test_an_error_counts_as_a_failure_of_its_case() -> None:
    @table(("text", "value"), [("1", 1), ("x", 2)])
    def number(text: str, value: int) -> None:
        assert int(text) == value

    with pytest.raises(AssertionError, match="1 of 2 cases fail:\n'x', 2: ValueError"):
        number()


def test_cases_that_hold_pass_and_a_table_without_cases_does_not() -> None:
    @table("number", [])
    def nothing(number: int) -> None: ...

    table("number", [1])(nothing.__wrapped__)()  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="without cases"):
        nothing()


def test_what_is_no_column_is_a_fixture() -> None:
    @table("number", [1])
    def with_fixture(number: int, tmp_path: object) -> None:
        assert (number, tmp_path) == (1, "here")

    assert list(inspect.signature(with_fixture).parameters) == ["tmp_path"]
    with_fixture(tmp_path="here")
