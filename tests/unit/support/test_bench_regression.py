"""What the regression bench calls slower: ratios to the raw chain of the same round."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.against_raw import CPU, P50, PLATFORM, RATE, RAW
from tests.bench.regression import COMMITTED, DOCUMENTS, best, comparable, corpus, faults
from tests.bench.report import Section

BEFORE = {RATE: 0.30, P50: 4.0, CPU: 8.0}


def test_equal_and_better_ratios_pass() -> None:
    assert faults(BEFORE, BEFORE) == []
    assert faults({RATE: 0.60, P50: 2.0, CPU: 4.0}, BEFORE) == []


def test_a_ratio_a_little_worse_passes() -> None:
    assert faults({RATE: 0.25, P50: 4.9, CPU: 9.9}, BEFORE) == []


def test_each_ratio_that_is_much_worse_is_named() -> None:
    found = faults({RATE: 0.23, P50: 5.1, CPU: 8.0}, BEFORE)

    assert [one.startswith(name) for one, name in zip(found, (RATE, P50), strict=True)] == [True, True]
    assert "0.23 × the raw chain, 0.30 × before" in found[0]


def test_the_best_round_counts_and_each_is_set_against_its_own_raw_chain() -> None:
    section = Section("against-raw", "", (RATE, P50, CPU), (RAW,))
    for raw, platform in (((400, 6, 2), (100, 30, 20)), ((100, 20, 4), (40, 60, 24))):
        section.add(RAW, dict(zip((RATE, P50, CPU), raw, strict=True)))
        section.add(PLATFORM, dict(zip((RATE, P50, CPU), platform, strict=True)))

    assert best(section) == {RATE: 0.4, P50: 3.0, CPU: 6.0}


def test_the_committed_ratios_are_those_that_are_measured() -> None:
    committed = json.loads(COMMITTED.read_text())

    assert set(comparable(committed, committed["cores"])) == {RATE, P50, CPU}


def test_throughput_is_compared_on_as_many_cores_only() -> None:
    assert comparable({"cores": 2, "ratios": BEFORE}, 8) == {P50: 4.0, CPU: 8.0}


def test_the_documents_are_the_same_wherever_it_runs(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = corpus(tmp_path / "one"), corpus(tmp_path / "other")

    assert one[0] == other[0]
    assert one[1].read_text() == other[1].read_text()
    assert len(one[0]) == len(set(one[0])) == DOCUMENTS == len(one[1].read_text().splitlines())
