"""`answerbus ingest`: hand in what was collected, remove what disappeared, and say what happened."""

from __future__ import annotations

import base64
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

from cli.client import Client
from cli.crawler.files import Collector, Problem, Submission
from cli.output import print_json

#: Documents and bytes per request; what comes back decides how finely the progress bar moves.
BATCH_DOCUMENTS = 100
BATCH_BYTES = 4 * 2**20
#: A batch is not held back longer than this while pages of the web come in slowly, in seconds.
BATCH_SECONDS = 5.0


@dataclass
class Report:
    """What became of everything that was given."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    removed: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "counts": dict(self.counts),
            "removed": self.removed,
            "skipped": {reason: count for reason, count in self.skipped.items() if count},
            "problems": [{"path": one.path, "reason": one.reason} for one in self.problems],
        }


async def ingest(
    here: Client, collector: Collector, submissions: AsyncIterator[Submission], *, sync: bool, as_json: bool
) -> Report:
    """Ingest what the collector gives; on Ctrl-C what was handed in stays, and the next time the rest is handed in."""
    report = Report(problems=collector.problems, skipped=collector.skipped)
    seen: set[str] = set()
    progress = _Progress(quiet=as_json)
    try:
        async for batch in _batches(submissions):
            seen |= {one.document.source for one in batch}
            reply = await here.call("POST", "/api/v1/ingest", json={"documents": [_json(one) for one in batch]})
            report.counts.update(reply["counts"])
            refused = [one for one in reply["documents"] if one["status"] == "refused"]
            collector.problems.extend(Problem(one["source"], one["reason"]) for one in refused)
            progress.advance(len(batch))
    finally:
        progress.close()
    if sync:
        report.removed = await _remove_missing(here, collector, seen)
    _show(report, as_json=as_json)
    return report


async def _remove_missing(here: Client, collector: Collector, seen: set[str]) -> int:
    """Remove what the collection holds and the paths do not; nothing when something could not be read."""
    if collector.problems:
        print("nothing was removed: some files could not be read, so what disappeared is not certain", file=sys.stderr)
        return 0
    missing = [one async for one in _sources(here, collector.collection) if one not in seen]
    for start in range(0, len(missing), 100):
        await here.call("DELETE", "/api/v1/documents", params={"source": missing[start : start + 100]})
    return len(missing)


async def _sources(here: Client, collection: str) -> AsyncIterator[str]:
    after = ""
    while True:
        page = await here.call("GET", "/api/v1/documents", params={"collection": collection, "after": after})
        for document in page["documents"]:
            if document["collection"] == collection:
                yield document["source"]
        after = page["after"]
        if not after:
            return


async def from_files(collector: Collector, paths: Iterable[str]) -> AsyncIterator[Submission]:
    """What the collector finds under the paths."""
    for submission in collector.collect(paths):
        yield submission


async def _batches(submissions: AsyncIterator[Submission]) -> AsyncIterator[list[Submission]]:
    batch: list[Submission] = []
    size, began = 0, time.monotonic()
    async for one in submissions:
        full = len(batch) >= BATCH_DOCUMENTS or size + len(one.body) > BATCH_BYTES
        if batch and (full or time.monotonic() - began > BATCH_SECONDS):
            yield batch
            batch, size, began = [], 0, time.monotonic()
        batch.append(one)
        size += len(one.body)
    if batch:
        yield batch


def _json(one: Submission) -> dict[str, Any]:
    described = one.document.model_dump(
        include={"source", "media_type", "title", "url", "language", "collection", "date", "parts"}
    )
    try:
        return {**described, "text": one.body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**described, "base64": base64.b64encode(one.body).decode()}


def _show(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json(report.as_json())
        return
    done = ", ".join(f"{count} {status}" for status, count in sorted(report.counts.items())) or "nothing to ingest"
    removed = f", {report.removed} removed" if report.removed else ""
    print(f"{done}{removed}")
    for reason, count in sorted(report.skipped.items()):
        if count:
            print(f"  skipped {count}: {reason}", file=sys.stderr)
    for problem in report.problems:
        print(f"  problem: {problem.path}: {problem.reason}", file=sys.stderr)


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar: Any = None
        if quiet or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("documents"), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("documents", total=None)
        self._bar.start()

    def advance(self, count: int) -> None:
        if self._bar:
            self._bar.advance(self._task, count)

    def close(self) -> None:
        if self._bar:
            self._bar.stop()
