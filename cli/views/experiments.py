"""Splits of live questions, and what is preferred in an experiment, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.output import print_json, table


def show_experiment(experiment: dict[str, Any], *, as_json: bool) -> None:
    """One split: how it stands, a row for each arm, and a row for each measure of a candidate."""
    if as_json:
        print_json(experiment)
        return
    reason = f": {experiment['reason']}" if experiment["reason"] else ""
    revision = f"; {experiment['pipeline']}@{experiment['revision']}" if experiment["revision"] else ""
    figures = {one["arm"]: one for one in experiment["figures"]["arms"]}
    heads = ["arm", "pipeline", "share", "questions", "errors", "refutations", "slow", "thumbs down", "mean ms", "p95"]
    names = ("questions", "errors", "refutations", "slow", "thumbs_down", "mean_ms", "p95_ms")
    rows = [
        [
            arm["name"],
            f"{arm['pipeline']['name']}@{arm['pipeline']['revision']}",
            f"{arm['share']:.0%}",
            *(round(figures.get(arm["name"], {}).get(name, 0)) for name in names),
        ]
        for arm in experiment["arms"]
    ]
    table(f"{experiment['name']}: {experiment['status']}{reason}{revision}", heads, rows)
    if differences := experiment["differences"]:
        heads = ["candidate minus live", "measure", "difference", "95 % from", "to", "says"]
        keys = ("arm", "measure", "difference", "low", "high", "says")
        table("differences", heads, [[one[key] for key in keys] for one in differences])


def show_split(report: dict[str, Any], written: str, *, as_json: bool) -> None:
    """One split with its segments, cost and latency; `written`: the page that was written, if any."""
    experiment = report["experiment"]
    if as_json:
        more = {name: one for name, one in report.items() if name != "experiment"}
        print_json({**experiment, **more, **({"report": written} if written else {})})
        return
    show_experiment(experiment, as_json=False)
    if report["segments"]:
        heads = ["segment", "value", "candidate minus live", "measure", "difference", "95 % from", "to", "says"]
        keys = ("arm", "measure", "difference", "low", "high", "says")
        rows = [
            [one["segment"], one["value"], *(told[key] for key in keys)]
            for one in report["segments"]
            for told in one["differences"]
        ]
        table("segments", heads, rows)
        print(report["multiplicity"])
    heads = ["arm", "questions", "USD each", "tokens each", "p50 ms", "p95", "rated up", "down"]
    names = ("arm", "counted", "cost_usd", "tokens")
    rows = [
        [*(one[name] for name in names), one["elapsed"]["p50"], one["elapsed"]["p95"], one["up"], one["down"]]
        for one in report["sides"]
    ]
    table("cost and latency", heads, rows)
    for arm in dict.fromkeys([*report["judge"], *report["experts"]]):
        show_preferences(report["judge"].get(arm, {}), report["experts"].get(arm, {}), f"{arm}: ")
    if written:
        print(f"report: {written}")


def show_preferences(judged: Mapping[str, Any], experts: Mapping[str, Any], of: str = "") -> None:
    """Which answers a judge model and experts prefer, of those who have said something; `of` begins the titles."""
    from cli.experiments.report import judged_rows
    from cli.experiments.review import agreement_text, expert_rows

    if judged:
        heads = ["judge", "pairs", "candidate", "tie", "live", "preference", "95 % from", "to", "says"]
        keys = ("pairs", "candidate", "tie", "live", "preference", "low", "high", "says")
        rows = [[name, *(told[key] for key in keys)] for name, told in judged_rows(judged).items()]
        table(f"{of}which answer is better ({judged['swayed']} pairs judged by the place)", heads, rows)
    if experts:
        heads = ["experts", "pairs", "candidate", "tie", "neither", "live", "preference", "95 % from", "to", "says"]
        names = ("pairs", "candidate", "tie", "bad", "live", "preference", "low", "high", "says")
        rows = [[name, *(told[key] for key in names)] for name, told in expert_rows(experts).items()]
        table(f"{of}which answer experts prefer; {agreement_text(experts)}", heads, rows)


def show_experiments(listed: dict[str, Any], *, as_json: bool) -> None:
    """A row for each split, the newest first."""
    if as_json:
        print_json(listed)
        return
    rows = [
        [one["name"], one["pipeline"], one["status"], _arms(one), one["started_at"][:19], one["reason"]]
        for one in listed["experiments"]
    ]
    table("experiments", ["name", "pipeline", "status", "arms", "started", "reason"], rows)


def _arms(experiment: dict[str, Any]) -> str:
    return ", ".join(f"{arm['name']} {arm['share']:.0%}" for arm in experiment["arms"])
