"""`answerbus ingest`: submit collected documents, remove those that disappeared, and report."""

from __future__ import annotations

import base64
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

from cli.client import GatewayClient
from cli.crawler.files import CollectedDocument, Collector, SourceProblem
from cli.output import print_json
from shared.text.sanitizer import visible

#: Documents and bytes per request; the progress bar advances with each reply.
BATCH_DOCUMENTS = 100
BATCH_BYTES = 4 * 2**20
#: Seconds after which an incomplete batch is sent while web pages arrive slowly.
BATCH_SECONDS = 5.0


@dataclass
class IngestReport:
    """What happened to the documents; `skipped` counts files by reason."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[SourceProblem] = field(default_factory=list)
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
    client: GatewayClient,
    collector: Collector,
    documents: AsyncIterator[CollectedDocument],
    *,
    sync: bool,
    as_json: bool,
) -> IngestReport:
    """Submit the documents in batches; after Ctrl-C, submitted ones stay and the next run submits the rest."""
    report = IngestReport(problems=collector.problems, skipped=collector.skipped)
    seen: set[str] = set()
    progress = _Progress(quiet=as_json)
    try:
        async for batch in _batches(documents):
            seen |= {one.document.source for one in batch}
            reply = await client.call("POST", "/api/v1/ingest", json={"documents": [_json(one) for one in batch]})
            report.counts.update(reply["counts"])
            refused = [one for one in reply["documents"] if one["status"] == "refused"]
            collector.problems.extend(SourceProblem(one["source"], one["reason"]) for one in refused)
            progress.advance(len(batch))
    finally:
        progress.close()
    if sync:
        report.removed = await _remove_missing(client, collector, seen)
    show_report(report, as_json=as_json)
    return report


async def _remove_missing(client: GatewayClient, collector: Collector, seen: set[str]) -> int:
    """Remove documents of the collection that were not seen; none if a file could not be read."""
    if collector.problems:
        print(
            "nothing was removed: some files could not be read, so it is unknown which documents disappeared",
            file=sys.stderr,
        )
        return 0
    missing = [one async for one in _sources(client, collector.collection) if one not in seen]
    for start in range(0, len(missing), 100):
        await client.call("DELETE", "/api/v1/documents", params={"source": missing[start : start + 100]})
    return len(missing)


async def _sources(client: GatewayClient, collection: str) -> AsyncIterator[str]:
    after = ""
    while True:
        page = await client.call("GET", "/api/v1/documents", params={"collection": collection, "after": after})
        for document in page["documents"]:
            if document["collection"] == collection:
                yield document["source"]
        after = page["after"]
        if not after:
            return


async def from_files(collector: Collector, paths: Iterable[str]) -> AsyncIterator[CollectedDocument]:
    """The documents that the collector finds under the paths."""
    for document in collector.collect(paths):
        yield document


async def _batches(documents: AsyncIterator[CollectedDocument]) -> AsyncIterator[list[CollectedDocument]]:
    batch: list[CollectedDocument] = []
    size, began = 0, time.monotonic()
    async for one in documents:
        full = len(batch) >= BATCH_DOCUMENTS or size + len(one.body) > BATCH_BYTES
        if batch and (full or time.monotonic() - began > BATCH_SECONDS):
            yield batch
            batch, size, began = [], 0, time.monotonic()
        batch.append(one)
        size += len(one.body)
    if batch:
        yield batch


def _json(one: CollectedDocument) -> dict[str, Any]:
    described = one.document.model_dump(
        include={"source", "media_type", "title", "url", "language", "collection", "date", "parts"}
    )
    try:
        return {**described, "text": one.body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**described, "base64": base64.b64encode(one.body).decode()}


def show_report(report: IngestReport, *, as_json: bool) -> None:
    """Print the counts, what was skipped, and the problems."""
    if as_json:
        print_json(report.as_json())
        return
    done = ", ".join(f"{count} {status}" for status, count in sorted(report.counts.items())) or "nothing to ingest"
    removed = f", {report.removed} removed" if report.removed else ""
    print(f"{done}{removed}")
    for reason, count in sorted(report.skipped.items()):
        if count:
            print(f"  skipped {count}: {visible(reason)}", file=sys.stderr)
    for problem in report.problems:
        print(f"  problem: {visible(problem.path)}: {visible(problem.reason)}", file=sys.stderr)


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
