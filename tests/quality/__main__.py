"""`python -m tests.quality`: ingest the documentation, ask every question, print the verdicts and the misses.

The platform runs in this process, on a temporary data directory; models are used if the environment names any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answerbus_client import ResultEvent

from cli.client import GatewayClient
from cli.crawler.files import Collector
from cli.host.in_process import log_errors_only, platform
from cli.operations.ingestion import from_files, ingest
from cli.output import table
from shared.runtime.settings import Settings
from tests.quality.documents import KEPT, documentation
from tests.quality.scoring import Question, judge, read_questions

VERDICTS = ("right", "partly", "wrong", "not found")
#: Conversations asked at the same time.
AT_ONCE = 2


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder of the fetched documentation")
    parser.add_argument("--data", type=Path, help="data directory to keep; indexed documents are not read again")
    parser.add_argument("--only", default="", help="ask only questions whose id begins so")
    parser.add_argument("--json", type=Path, help="write every result here")
    arguments = parser.parse_args()
    asked = asyncio.run(_run(arguments))
    if arguments.json:
        arguments.json.write_text(json.dumps(asked, indent=1, ensure_ascii=False), "utf-8")
    _show(asked)


async def _run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    sets = documentation(arguments.kept)
    questions = read_questions()
    with tempfile.TemporaryDirectory(prefix="answerbus-quality-", ignore_cleanup_errors=True) as folder:
        settings = log_errors_only(Settings(data_dir=arguments.data or Path(folder), max_log_bytes=256 * 2**20))
        async with platform(settings) as url, GatewayClient(url) as client:
            for name, paths in sets.items():
                print(f"{name}: ", end="", file=sys.stderr, flush=True)
                collector = Collector(collection=name)
                pages = from_files(collector, [str(path) for path in paths])
                await ingest(client, collector, pages, sync=False, as_json=False)
            return await _ask_all(client, conversations(questions, arguments.only))


def conversations(questions: Sequence[Question], beginning: str = "") -> list[list[Question]]:
    """The questions in conversations: each follow-up behind the question it follows."""
    threads: dict[str, list[Question]] = {}
    for question in questions:
        threads.setdefault(question.after or question.id, []).append(question)
    return [thread for thread in threads.values() if any(one.id.startswith(beginning) for one in thread)]


async def _ask_all(client: GatewayClient, threads: Sequence[Sequence[Question]]) -> list[dict[str, Any]]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def converse(thread: Sequence[Question]) -> list[dict[str, Any]]:
        async with slots:
            return [await _ask(client, question, f"quality-{thread[0].id}") for question in thread]

    return [one for thread in await asyncio.gather(*map(converse, threads)) for one in thread]


async def _ask(client: GatewayClient, question: Question, conversation: str) -> dict[str, Any]:
    """Ask within the question's documentation, as a reader of that documentation does."""
    body = {"question": question.text, "conversation_id": conversation, "collections": [question.set]}
    accepted = await client.call("POST", "/api/v1/questions", json=body)
    async for event in client.watch(accepted["id"]):
        if isinstance(event, ResultEvent):
            result = event.question.raw["result"]
            return {
                "id": question.id,
                "question": question.text,
                "verdict": judge(question, result),
                "answerable": question.answerable,
                "follow_up": bool(question.after),
                "language": question.language,
                "set": question.set,
                "outcome": result["outcome"],
                "type": result["answer"]["type"],
                "answer": result["answer"]["content"],
                "confidence": result["confidence"],
                "cited": [citation["source"] for citation in result["citations"]],
                "expected": {"pages": question.pages, "says": question.says},
            }
    raise RuntimeError(f"{question.id}: the stream ended without a result")


def _show(asked: Sequence[dict[str, Any]]) -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in asked:
        kinds = [one["set"], "answerable" if one["answerable"] else "unanswerable"]
        kinds += ["follow-ups"] if one["follow_up"] else []
        kinds += ["French"] if one["language"] == "fr" else []
        for kind in (*kinds, "all"):
            groups.setdefault(kind, []).append(one)
    rows = []
    for kind in sorted(groups, key=lambda name: (name == "all", name)):
        counts = Counter(one["verdict"] for one in groups[kind])
        rows.append([kind, len(groups[kind]), *(counts[verdict] for verdict in VERDICTS)])
    missed = [one for one in asked if one["verdict"] != "right"]
    for one in missed:
        expected = " & ".join(one["expected"]["says"]) or "(not answered there)"
        print(f"\n{one['verdict']}: {one['id']}: {one['question']}\n  expected: {expected}")
        print(f"  {one['outcome']}, cited {', '.join(dict.fromkeys(one['cited'])) or 'nothing'}")
        print("  " + one["answer"].replace("\n", "\n  ")[:600])
    answers = [len(one["answer"]) for one in asked if one["answerable"] and one["verdict"] != "not found"]
    print(f"\ncharacters of an answer: {sum(answers) / max(1, len(answers)):.0f} in the mean")
    table("answers on documentation", ["questions", "number", *VERDICTS], rows)


if __name__ == "__main__":
    main()
