"""Differences of two runs on a terminal."""

from __future__ import annotations

import pytest

from cli.views.differences import show_difference
from shared.contracts.domain import Lane
from shared.history.diff import Difference, MovedPassage, RunSummary


def test_a_passage_in_its_place_has_another_score_and_has_not_moved(capsys: pytest.CaptureFixture[str]) -> None:
    def passage(source: str, before: int, after: int) -> MovedPassage:
        places = {"before": before, "after": after, "score_before": 0.5, "score_after": 0.75}
        return MovedPassage.model_validate({"source": source, "passage": f"{source}#1", **places})

    run = RunSummary(id="01", pipeline="default", lane=Lane.LIVE)
    show_difference(
        Difference(left=run, right=run, verdict="better", moved=(passage("kb:a", 1, 1), passage("kb:b", 2, 3)))
    )

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "score kb:a: 0.500 -> 0.750" in lines
    assert "moved kb:b: 2 -> 3, 0.500 -> 0.750" in lines
