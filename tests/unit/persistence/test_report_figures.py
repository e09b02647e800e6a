"""The figures that are told of a report."""

from __future__ import annotations

from services.persistence.report_figures import MOST_FIGURES, figures_of


def test_numbers_are_told_by_their_place_in_the_report() -> None:
    report = {"file": "a.jsonl", "hit@5": 0.9, "pairs": 12, "passed": True, "scores": {"mean": {"overall": 4}}}

    assert figures_of(report) == {"hit@5": 0.9, "pairs": 12.0, "scores.mean.overall": 4.0}


def test_lists_and_what_is_no_finite_number_are_left_out() -> None:
    assert figures_of({"rows": [1, 2], "nan": float("nan"), "huge": 10**400, "none": None, "text": "7"}) == {}


def test_the_first_figures_are_told_and_no_deeper_ones_than_a_few_levels() -> None:
    deep = {"a": {"b": {"c": {"d": 1, "e": {"f": 2}}}}}

    assert figures_of(deep) == {"a.b.c.d": 1.0}
    assert len(figures_of({f"n{number}": number for number in range(200)})) == MOST_FIGURES
