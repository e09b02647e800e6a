"""What a search of settings found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from answerbus_lab.tuning.proposal import Proposal
from cli.output import print_json, table


def show_proposal(proposal: Proposal, folder: Path, *, as_json: bool) -> None:
    """The change, and the scores on both parts of the cases."""
    found = proposal.as_json()
    if as_json:
        print_json({**found, "folder": str(folder)})
        return
    rows = [row for name in ("searched", "held_out") for row in _rows(name.replace("_", " "), found[name])]
    heads = ["cases", "", "score", "passed", "mean ms", "difference", "95 % from", "to"]
    table(f"{proposal.pipeline}: {found['says']} ({found['ended']})", heads, rows)
    if proposal.changes:
        print(proposal.diff(), end="")
        print(f"proposal: {folder / 'proposed' / 'pipeline.yaml'}; to try it on live questions: answerbus experiments")


def _rows(name: str, evidence: dict[str, Any] | None) -> list[list[Any]]:
    if evidence is None:
        return []
    rows = []
    for which in ("before", "after"):
        if side := evidence.get(which):
            last = which == "after"
            gained = [evidence[key] for key in ("difference", "low", "high")] if last else ["", "", ""]
            rows.append(
                [name, which, side["score"], f"{side['passed']} of {evidence['cases']}", side["mean_ms"], *gained]
            )
    return rows
