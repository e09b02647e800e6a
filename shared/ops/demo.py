"""`answerbus demo`: the shortest way to see a question cross the bus."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared.errors import UnavailableError
from shared.ops import events
from shared.ops.asking import ask
from shared.ops.client import Client
from shared.ops.collect import Collector
from shared.ops.in_process import platform
from shared.ops.ingest import ingest
from shared.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = (
    "How does a client resume a stream after its connection was cut?",
    "Comment une question est-elle retirée par son auteur ?",
    "What happens to an event that cannot be worked on?",
)


async def demo(data: Path | None) -> None:
    """Ingest this project's own documentation, ask three questions, show the last one's biography.

    Raises:
        UnavailableError: a question got no answer.
    """
    with _directory(data) as folder:
        settings = Settings(data_dir=folder, log_level="error", log_format="console")
        _title("starting the bus and seven stages")
        async with platform(settings) as url, Client(url) as here:
            print(f"gateway at {url}")
            _title("ingesting docs/ and README.md")
            await ingest(here, Collector(), [str(ROOT / "docs"), str(ROOT / "README.md")], sync=False, as_json=False)
            last: dict[str, Any] = {}
            for question in QUESTIONS:
                _title(question)
                last = await ask(here, {"question": question}, as_json=False)
                if last["result"]["outcome"] != "answered":
                    raise UnavailableError(f"the demo's question was not answered but {last['result']['outcome']}")
            _title("what happened to that question on the bus")
            await events.show(here, last["id"], as_json=False)
            _title("stopping")
    print('stopped cleanly. Next: answerbus up, then answerbus ingest YOUR_DOCS and answerbus ask "..."')


@contextlib.contextmanager
def _directory(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="answerbus-demo-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _title(text: str) -> None:
    print(f"\n── {text} ──", flush=True)
