"""What a split showed, as the gateway tells it: as JSON, and as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from cli.evaluation import plots
from cli.evaluation.report import page, table_html
from cli.experiments.report import judge_html
from cli.experiments.review import experts_html
from shared.text.sanitizer import visible

_REASONS = {
    "same_words": "both were asked this",
    "abandoned": "there was no answer",
    "rated_up": "somebody rated the answer up",
    "rated_down": "somebody rated the answer down",
}
_SAME_WORDS = "Questions of the same words that both arms have answered: those asked often, and no random sample."
_MEASURES = ("questions", "errors", "refutations", "slow", "thumbs_down", "mean_ms", "p95_ms")


def write_split(report: Mapping[str, Any], folder: Path) -> Path:
    """Write `report.json` and `report.html` into the folder; returns the page's path.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", "utf-8")
    (folder / "report.html").write_text(split_html(report), "utf-8")
    return folder / "report.html"


def split_html(report: Mapping[str, Any]) -> str:
    """The page of `GET /api/v1/experiments/{name}/report` with what `said_of_split` has found."""
    experiment = report["experiment"]
    labels = [f"{arm['pipeline']['name']}@{arm['pipeline']['revision']}" for arm in experiment["arms"]]
    title = f"{experiment['name']}: {', '.join(labels[1:])} beside {labels[0]}"
    reason = f": {experiment['reason']}" if experiment["reason"] else ""
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(experiment['status'] + reason)}. Intervals hold at every look; all of them together err in at "
        "most five percent of the experiments.</p>",
        _arms(experiment),
        "<h2>Differences</h2>",
        *_differences(experiment["differences"]),
        *_segments(report),
        *_preferred(report),
        "<h2>Cost and latency</h2>",
        _costs(report["sides"]),
        *_latencies(report["sides"]),
    ]
    for heading, better in (("Better", True), ("Worse", False)):
        parts += [f"<h2>{heading}</h2>", *(_example(one) for one in report["examples"] if one["better"] is better)]
    return page(title, "\n".join(parts))


def _arms(experiment: Mapping[str, Any]) -> str:
    figures = {one["arm"]: one for one in experiment["figures"]["arms"]}
    rows = [
        [
            arm["name"],
            f"{arm['share']:.0%}",
            *(f"{figures.get(arm['name'], {}).get(name, 0):.0f}" for name in _MEASURES),
        ]
        for arm in experiment["arms"]
    ]
    return _table(["arm", "share", *_MEASURES], rows)


def _differences(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table, and the plot of those that have an interval."""
    heads = ["candidate minus live", "measure", "difference", "95 % from", "to", "says"]
    keys = ("arm", "measure", "difference", "low", "high", "says")
    bars = {f"{one['arm']}: {one['measure']}": one for one in found if one["low"] is not None}
    plot = [plots.differences(bars)] if bars else []
    return [_table(heads, [[_cell(one[key]) for key in keys] for one in found]), *plot]


def _segments(report: Mapping[str, Any]) -> list[str]:
    if not report["segments"]:
        return []
    parts = ["<h2>Segments</h2>", f"<p>{escape(report['multiplicity'])}</p>"]
    for segment in dict.fromkeys(one["segment"] for one in report["segments"]):
        parts.append(f"<h3>By {escape(segment)}</h3>")
        for one in (one for one in report["segments"] if one["segment"] == segment):
            counts = ", ".join(f"{arm['arm']} {arm['questions']}" for arm in one["arms"])
            parts.append(f"<h4>{escape(visible(one['value']))}: {escape(counts)} questions</h4>")
            parts += _differences(one["differences"])
    return parts


def _preferred(report: Mapping[str, Any]) -> list[str]:
    """What a judge model and experts prefer of the questions that both arms have answered."""
    parts = [f"<h3>Judge: {escape(arm)}</h3>{judge_html(one)}" for arm, one in report["judge"].items()]
    parts += [
        f"<h3>Experts: {escape(arm)}</h3>{experts_html(one)}"
        for arm, one in report["experts"].items()
        if one["together"]["pairs"]
    ]
    return [f"<h2>Answers to the same words</h2><p>{_SAME_WORDS}</p>", *parts] if parts else []


def _costs(sides: Sequence[Mapping[str, Any]]) -> str:
    heads = ["arm", "questions", "USD each", "tokens each", "p50 ms", "p95 ms", "p99 ms", "overall", "rated up", "down"]
    rows = [
        [
            one["arm"],
            str(one["counted"]),
            f"{one['cost_usd']:.6f}",
            f"{one['tokens']:.0f}",
            *(f"{one['elapsed'][name]:.0f}" for name in ("p50", "p95", "p99")),
            f"{one['scores']['overall']:.3f}" if one["scores"]["count"] else "–",
            str(one["up"]),
            str(one["down"]),
        ]
        for one in sides
    ]
    return _table(heads, rows)


def _latencies(sides: Sequence[Mapping[str, Any]]) -> list[str]:
    """A plot of each candidate beside the live pipeline."""
    live, *candidates = [{one["arm"]: one["times"]} for one in sides] or [{}]
    return [plots.distribution({**live, **one}, "ms") for one in candidates if all({**live, **one}.values())]


def _example(one: Mapping[str, Any]) -> str:
    sides = [(one["arm"], one["outcome"], one["id"], one["answer"])]
    if one["live_id"]:
        sides.insert(0, ("live", one["live_outcome"], one["live_id"], one["live_answer"]))
    answers = "".join(
        f'<p class="by">{escape(name)}: {escape(outcome)}, question {escape(id_)}</p>'
        f'<div class="answer">{escape(visible(answer))}</div>'
        for name, outcome, id_, answer in sides
    )
    # What was abandoned before its question was cleared has no text on record.
    summary = f"{visible(one['question']) or one['id']} ({one['arm']}: {_REASONS.get(one['reason'], one['reason'])})"
    return f"<details><summary>{escape(summary)}</summary>{answers}</details>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table_html(heads, [[escape(cell) for cell in row] for row in rows])


def _cell(cell: Any) -> str:
    return "–" if cell is None else f"{cell:+.4f}" if isinstance(cell, float) else str(cell)
