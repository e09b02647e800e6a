"""How replays are shown: two questions side by side, and what many came to."""

from __future__ import annotations

import sys

from cli.operations.bulk_replay import Report
from cli.output import table
from shared.history.diff import Difference, RunSummary
from shared.text.sanitizer import visible

_PLAIN, _RED, _GREEN, _STRUCK = "\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[9m"
#: Changed replays that a report names.
_NAMED = 20


def show_difference(found: Difference) -> None:
    """Print what differs, as a table and, where the answer does, its text by words."""
    left, right = found.left, found.right
    rows = [[name, *pair] for name, pair in _rows(left, right)]
    table(f"{left.id} -> {right.id}: {found.verdict}", ["", "before", "after"], rows)
    changes = [["gained", one] for one in found.gained] + [["lost", one] for one in found.lost]
    changes += [
        ["moved", f"{one.source}: {one.before} -> {one.after}, {one.score_before:.3f} -> {one.score_after:.3f}"]
        for one in found.moved
    ]
    if changes:
        print()
        table("passages", ["", "passage"], changes)
    if found.words:
        print(f"\nanswer\n{_marked(found)}")
    if found.changed:
        print()
        table("changed", ["field"], [[one] for one in found.changed[:_NAMED]])


def _rows(left: RunSummary, right: RunSummary) -> list[tuple[str, tuple[object, object]]]:
    rows: list[tuple[str, tuple[object, object]]] = [
        ("pipeline", (left.pipeline, right.pipeline)),
        ("ending", (_ending(left), _ending(right))),
        ("attempts", (left.attempts, right.attempts)),
        ("confidence", (left.confidence, right.confidence)),
    ]
    for name in ("groundedness", "relevancy", "completeness", "overall"):
        pair = tuple(round(getattr(one.scores, name), 3) if one.scores else None for one in (left, right))
        rows.append((name, (pair[0], pair[1])))
    rows += [("tokens", (left.tokens, right.tokens)), ("cost $", (left.cost_usd, right.cost_usd))]
    return [*rows, ("milliseconds", (left.milliseconds, right.milliseconds))]


def _ending(one: RunSummary) -> str:
    return f"{one.ending or 'not ended'}{f' ({one.answer_type})' if one.answer_type else ''}"


def _marked(found: Difference) -> str:
    """The answer's text: what went is red and struck out, or `[-so-]` without colours, what came `{+so+}`."""
    terminal = sys.stdout.isatty()
    marks = {
        "=": ("", ""),
        "-": (f"{_RED}{_STRUCK}", _PLAIN) if terminal else ("[-", "-]"),
        "+": (_GREEN, _PLAIN) if terminal else ("{+", "+}"),
    }
    return "".join(f"{marks[kind][0]}{visible(text)}{marks[kind][1]}" for kind, text in found.words)


def show_report(report: Report) -> None:
    """Print what many replays came to."""
    told = report.as_json()
    stopped = " (stopped)" if report.stopped else ""
    names = ("questions", "replayed", "identical", "better", "worse", "other", "unfinished", "begun_later")
    rows = [[name.replace("_", " "), told[name]] for name in names]
    rows += [[f"skipped: {reason}", count] for reason, count in told["skipped"].items()]
    rows += [[name, count] for name, count in told["endings"].items()]
    table(f"replays{stopped}", ["what", "count"], rows)
    print()
    table("means", ["what", "before", "after"], [[name, *pair.values()] for name, pair in told["means"].items()])
    if told["changed"]:
        print()
        columns = ["verdict", "question", "replay", "changed"]
        changed = [[one["verdict"], one["id"], one["replay"], ", ".join(one["changed"])] for one in told["changed"]]
        table("changed", columns, changed[:_NAMED])


def progress(report: Report) -> None:
    """One line on standard error that is written over."""
    if sys.stderr.isatty():
        done = len(report.done) + sum(report.skipped.values())
        print(f"\r{done} of {report.wanted} replayed", end="" if done < report.wanted else "\n", file=sys.stderr)
