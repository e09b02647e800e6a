"""The reports of workers: sums and quantiles of histograms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.observability.telemetry import BUCKETS, WORKED
from shared.observability.worker_status import WorkerReport, add_histograms, fact_reports, quantile

#: Non-cumulative counts per bucket, the last one for +Inf.
COUNTS = st.lists(st.integers(0, 50), min_size=len(BUCKETS) + 1, max_size=len(BUCKETS) + 1)


def cumulative(counts: list[int]) -> list[float]:
    return [float(sum(counts[: number + 1])) for number in range(len(counts))]


def test_no_work_has_no_quantile() -> None:
    assert quantile([], 0.5) is None
    assert quantile([0.0] * (len(BUCKETS) + 1), 0.5) is None


def test_a_quantile_lies_between_the_edges_of_its_bucket() -> None:
    counts = [0] * (len(BUCKETS) + 1)
    counts[4] = 10  # all between 0.01 and 0.025 s

    assert quantile(cumulative(counts), 0.0) == 0.0
    assert quantile(cumulative(counts), 0.5) == pytest.approx(0.0175)
    assert quantile(cumulative(counts), 1.0) == pytest.approx(0.025)


def test_what_took_longer_than_the_last_bucket_counts_as_its_edge() -> None:
    counts = [0] * len(BUCKETS) + [5]

    assert quantile(cumulative(counts), 0.5) == BUCKETS[-1]


@given(COUNTS, st.floats(0, 1), st.floats(0, 1))
def test_a_quantile_grows_with_its_share_and_stays_within_the_buckets(
    counts: list[int], one: float, two: float
) -> None:
    low, high = (quantile(cumulative(counts), share) for share in sorted((one, two)))
    if low is None or high is None:
        assert not sum(counts)
        return

    assert 0 <= low <= high <= BUCKETS[-1]


@given(COUNTS, COUNTS)
def test_two_histograms_add_up_bucket_by_bucket(left: list[int], right: list[int]) -> None:
    both = add_histograms(cumulative(left), cumulative(right))

    assert both == cumulative([a + b for a, b in zip(left, right, strict=True)])
    assert add_histograms([], cumulative(right)) == cumulative(right)


def test_a_report_has_the_facts_of_its_own_stage_with_all_outcomes_added_up() -> None:
    WORKED.labels("roll-call-stage", "QuestionAsked", "QuestionApproved").observe(0.002)
    WORKED.labels("roll-call-stage", "QuestionAsked", "QuestionRejected").observe(0.004)
    WORKED.labels("another-stage", "QuestionAsked", "QuestionApproved").observe(9)

    reports = fact_reports("roll-call-stage")

    assert set(reports) == {"QuestionAsked"}
    assert reports["QuestionAsked"].count == 2
    assert reports["QuestionAsked"].seconds == pytest.approx(0.006)
    assert reports["QuestionAsked"].buckets[-1] == 2
    assert quantile(reports["QuestionAsked"].buckets, 1.0) == pytest.approx(0.005)


def test_a_stage_that_has_not_worked_reports_nothing() -> None:
    assert fact_reports("idle-stage") == {}


def test_a_report_is_read_back_as_it_was_written() -> None:
    report = WorkerReport(stage="answer", worker="answer-host-1", pid=1, host="host", started_at=0.5, in_flight=3)

    assert WorkerReport.model_validate_json(report.model_dump_json()) == report
