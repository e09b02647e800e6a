"""`answerbus demo`: the shortest way to see a question cross the bus."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.client import Client
from cli.crawler.files import Collector
from cli.host.in_process import platform
from cli.operations.answers_view import ask
from cli.operations.ingestion import from_files, ingest
from cli.output import table
from shared.contracts.errors import UnavailableError
from shared.runtime.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = (
    "How does a client resume a stream after its connection was cut?",
    "Comment une question est-elle retirée par son auteur ?",
    "What happens to an event that cannot be worked on?",
)
#: Bytes: a demonstration must not ask for the disk space of a platform.
LOG = 256 * 2**20


async def demo(data: Path | None) -> None:
    """Ingest this project's own documentation, ask three questions, show the last one's biography.

    Raises:
        UnavailableError: the pages did not answer a question.
    """
    with _directory(data) as folder:
        settings = Settings(data_dir=folder, max_log_bytes=LOG, log_level="error", log_format="console")
        _title("starting the bus and seven stages")
        async with platform(settings) as url, Client(url) as here:
            print(f"gateway at {url}")
            _title("ingesting docs/ and README.md")
            collector = Collector()
            pages = from_files(collector, [str(ROOT / "docs"), str(ROOT / "README.md")])
            await ingest(here, collector, pages, sync=False, as_json=False)
            last: dict[str, Any] = {}
            for question in QUESTIONS:
                _title(question)
                last = await ask(here, {"question": question}, as_json=False)
                _check(last["result"])
            _title("what happened to that question on the bus")
            await _biography(here, last["id"])
            _title("stopping")
    print('stopped cleanly. Next: answerbus up, then answerbus ingest YOUR_DOCS and answerbus ask "..."')


def _check(result: dict[str, Any]) -> None:
    """See that the question was answered; what a model wrote may be refused by the verifier, quotes of the pages not.

    Raises:
        UnavailableError: it was not answered.
    """
    if result["outcome"] != "answered" or (result["answer"]["type"] != "normal" and result["engine"] == "extractive"):
        raise UnavailableError(f"the demo's question was not answered: {result['outcome']}")


async def _biography(here: Client, question_id: str) -> None:
    """The question's events in a few columns; `answerbus events show` tells more of each."""
    events = await here.call("GET", f"/api/v1/events/{question_id}")
    first = datetime.fromisoformat(events[0]["time"])
    rows = []
    for event in events:
        at = (datetime.fromisoformat(event["time"]) - first).total_seconds() * 1e3
        last = event["timeline"][-1] if event["timeline"] else {"stage": "gateway", "waited_ms": 0.0, "worked_ms": 0.0}
        rows.append([round(at, 1), last["stage"], event["fact"], last["waited_ms"], last["worked_ms"]])
    table(f"question {question_id}", ["at ms", "said by", "fact", "waited ms", "worked ms"], rows)


@contextlib.contextmanager
def _directory(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="answerbus-demo-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _title(text: str) -> None:
    print(f"\n── {text} ──", flush=True)
