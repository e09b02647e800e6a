"""Recorded questions said again on a whole platform: how many give identical facts, and how fast."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cli.host.data_dir import DataDir
from cli.operations.operator_session import open_replayer
from shared.operations.bulk_replay import ReplayReport, replay_many
from shared.operations.replay import Replayer, ReplayOptions
from shared.runtime.settings import Settings
from tests.support.platform import cli, running

from .chains import Say
from .http_load import bodies, load
from .report import Section
from .whole import corpus

IN_FLIGHT = 16


async def compare(*, questions: int, quick: bool, say: Say) -> Section:
    """Ask so many different questions, then replay every one with the same pipeline.

    Raises:
        RuntimeError: questions were refused or failed, so that fewer were recorded.
    """
    questions = min(questions, 50) if quick else questions
    section = Section(
        name="replay",
        title="recorded questions replayed from their first fact, extractive engine, every write fsynced",
        measures=("questions", "identical", "changed", "not ended", "replays/s"),
        baselines=(),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        texts, documents = corpus(root)
        with running(root / "data") as platform:
            cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            asked = await load(platform.url, bodies(texts, questions, distinct=True), in_flight=IN_FLIGHT)
            if asked.answered != questions or asked.reused:
                raise RuntimeError(f"{asked.answered} of {questions} answered, {asked.reused} from the cache")
            say(f"replay: {questions:,} questions recorded, {asked.per_second:.0f}/s")
            bus = DataDir(root / "data").running()
            assert bus is not None
            async with open_replayer(Settings(data_dir=root / "data", nats_url=bus.nats_url)) as replayer:
                section.add("default", await _replayed(replayer, questions, say))
    return section


async def _replayed(replayer: Replayer, questions: int, say: Say) -> dict[str, float]:
    cids = await replayer.ended_since(datetime.now(UTC) - timedelta(days=1))
    if len(cids) != questions:
        raise RuntimeError(f"{len(cids)} endings of {questions} questions are in the log")
    report = ReplayReport(questions=len(cids))
    began = time.perf_counter()
    await replay_many(replayer, cids, ReplayOptions(), report)
    told = report.as_json()
    for one in told["changed"][:10]:
        say(f"replay: {one['id']} -> {one['replay']}: {', '.join(one['changed'])}")
    return {
        "questions": len(cids),
        "identical": told["identical"],
        "changed": len(told["changed"]),
        "not ended": told["unfinished"],
        "replays/s": len(report.replays) / (time.perf_counter() - began),
    }
