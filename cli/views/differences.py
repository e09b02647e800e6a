"""Replays on a terminal: two questions side by side, and the report of many replays."""

from __future__ import annotations

import sys

from cli.output import table
from shared.history.diff import Difference, MovedPassage, RunSummary
from shared.operations.bulk_replay import ReplayReport
from shared.text.sanitizer import visible

_PLAIN, _RED, _GREEN, _STRUCK = "\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[9m"
#: Changed fields or replays that are listed.
_LISTED = 20


def show_difference(compared: Difference) -> None:
    """Print what differs as tables, and the answer word by word if it differs."""
    left, right = compared.left, compared.right
    rows = [[name, *pair] for name, pair in _rows(left, right)]
    table(f"{left.id} -> {right.id}: {compared.verdict}", ["", "before", "after"], rows)
    changes = [["gained", passage] for passage in compared.gained] + [["lost", passage] for passage in compared.lost]
    changes += [_changed_place(passage) for passage in compared.moved]
    if changes:
        print()
        table("passages", ["", "passage"], changes)
    if compared.words:
        print(f"\nanswer\n{_marked(compared)}")
    if compared.changed:
        print()
        table("changed", ["field"], [[field] for field in compared.changed[:_LISTED]])


def _changed_place(passage: MovedPassage) -> list[str]:
    scores = f"{passage.score_before:.3f} -> {passage.score_after:.3f}"
    if passage.before == passage.after:
        return ["score", f"{passage.source}: {scores}"]
    return ["moved", f"{passage.source}: {passage.before} -> {passage.after}, {scores}"]


def _rows(left: RunSummary, right: RunSummary) -> list[tuple[str, tuple[object, object]]]:
    rows: list[tuple[str, tuple[object, object]]] = [
        ("pipeline", (left.pipeline, right.pipeline)),
        ("outcome", (_outcome(left), _outcome(right))),
        ("attempts", (left.attempts, right.attempts)),
        ("confidence", (left.confidence, right.confidence)),
    ]
    for name in ("groundedness", "relevancy", "completeness", "overall"):
        pair = tuple(round(getattr(run.scores, name), 3) if run.scores else None for run in (left, right))
        rows.append((name, (pair[0], pair[1])))
    rows += [("tokens", (left.tokens, right.tokens)), ("cost $", (left.cost_usd, right.cost_usd))]
    return [*rows, ("milliseconds", (left.milliseconds, right.milliseconds))]


def _outcome(one: RunSummary) -> str:
    return f"{one.ending or 'none'}{f' ({one.answer_type})' if one.answer_type else ''}"


def _marked(compared: Difference) -> str:
    """The answer with removed words red and struck out, added ones green; without colours `[-removed-]{+added+}`."""
    terminal = sys.stdout.isatty()
    marks = {
        "=": ("", ""),
        "-": (f"{_RED}{_STRUCK}", _PLAIN) if terminal else ("[-", "-]"),
        "+": (_GREEN, _PLAIN) if terminal else ("{+", "+}"),
    }
    return "".join(f"{marks[kind][0]}{visible(text)}{marks[kind][1]}" for kind, text in compared.words)


def show_report(report: ReplayReport) -> None:
    """Print the report of many replays."""
    document = report.as_json()
    stopped = " (stopped)" if report.stopped else ""
    names = ("questions", "replayed", "identical", "better", "worse", "other", "unfinished", "begun_later")
    rows = [[name.replace("_", " "), document[name]] for name in names]
    rows += [[f"skipped: {reason}", count] for reason, count in document["skipped"].items()]
    rows += [[name, count] for name, count in document["endings"].items()]
    table(f"replays{stopped}", ["result", "count"], rows)
    print()
    table("means", ["measure", "before", "after"], [[name, *pair.values()] for name, pair in document["means"].items()])
    if document["changed"]:
        print()
        columns = ["verdict", "question", "replay", "changed"]
        changed = [
            [pair["verdict"], pair["id"], pair["replay"], ", ".join(pair["changed"])] for pair in document["changed"]
        ]
        table("changed", columns, changed[:_LISTED])


def progress(report: ReplayReport) -> None:
    """Print the progress as a line on standard error that is overwritten."""
    if sys.stderr.isatty():
        done = len(report.replays) + sum(report.skipped.values())
        print(f"\r{done} of {report.questions} replayed", end="" if done < report.questions else "\n", file=sys.stderr)
