"""Cases of a suite, in two parts by their ids, and how well an answer fulfils one. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerbus_lab.improvement.suite import Case, Suite, failures
from shared.contracts.errors import RefusedError

#: Cases that each part needs at least.
LEAST = 2


@dataclass(frozen=True)
class CaseParts:
    """The cases by which settings are searched, and those that are asked once, of the best settings."""

    tuned: tuple[Case, ...]
    held_out: tuple[Case, ...]


@dataclass(frozen=True)
class CaseScore:
    """How well one answer fulfils its case, from 0 to 1, with its milliseconds and US dollars."""

    score: float
    took_ms: float
    cost_usd: float

    @property
    def passed(self) -> bool:
        return self.score == 1.0


def parts_of(suite: Suite, share: float) -> CaseParts:
    """The two parts; a case stays in its part when others are added. Cases of the split `test` are in neither.

    Raises:
        RefusedError: a part has fewer cases than `LEAST`.
    """
    usable = [case for case in suite.cases if case.split != "test"]
    drawn = {case.id: _drawn(case.id) for case in usable}
    parts = CaseParts(
        tuned=tuple(case for case in usable if drawn[case.id] >= share),
        held_out=tuple(case for case in usable if drawn[case.id] < share),
    )
    for name, cases in (("searched", parts.tuned), ("held-out", parts.held_out)):
        if len(cases) < LEAST:
            raise RefusedError(
                f"the {name} part has {len(cases)} of {len(usable)} cases and needs {LEAST}; "
                "add cases with: answerbus cases add, or change --held-out"
            )
    return parts


def case_score(case: Case, row: Mapping[str, Any]) -> CaseScore:
    """`row` is as `batch_run.row_of` gives it; the score is the share of expectations that are met."""
    wanted = 1 + bool(case.expected_sources) + len(case.expected_texts) + len(case.unwanted_texts)
    score = 1 - len(failures(case, row)) / wanted
    return CaseScore(score, float(row.get("total_ms", 0.0)), float(row.get("cost_usd") or 0.0))


def mean_score(scores: Sequence[CaseScore]) -> float:
    return sum(score.score for score in scores) / len(scores) if scores else 0.0


def _drawn(case_id: str) -> float:
    return int.from_bytes(hashlib.sha256(f"held out {case_id}".encode()).digest()[:8], "big") / 2**64
