"""Replays many recorded questions and reports the differences in figures."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from shared.contracts.errors import AnswerbusError, NotFoundError, RefusedError
from shared.history.diff import Difference
from shared.operations.replay import Replayed, Replayer, ReplayOptions

#: Replays that run concurrently.
AT_ONCE = 8


@dataclass
class ReplayReport:
    """The results of many replays; `skipped` counts the reasons why questions could not be replayed."""

    questions: int = 0
    replays: list[Replayed] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    stopped: bool = False

    def as_json(self) -> dict[str, Any]:
        """Counts by verdict, pairs of outcomes, means before and after, and each replay that was not identical."""
        compared = [replay.difference for replay in self.replays if replay.ended]
        verdicts = Counter(difference.verdict for difference in compared)
        return {
            "questions": self.questions,
            "replayed": len(self.replays),
            **{name: verdicts.get(name, 0) for name in ("identical", "better", "worse", "other")},
            "unfinished": len(self.replays) - len(compared),
            "begun_later": sum(bool(replay.note) for replay in self.replays),
            "skipped": dict(self.skipped),
            "stopped": self.stopped,
            "endings": dict(
                Counter(f"{difference.left.ending} -> {difference.right.ending}" for difference in compared)
            ),
            "means": _means(compared),
            "changed": [
                {
                    "id": difference.left.id,
                    "replay": difference.right.id,
                    "verdict": difference.verdict,
                    "changed": list(difference.changed[:5]),
                    "gained": list(difference.gained),
                    "lost": list(difference.lost),
                }
                for difference in sorted(
                    compared, key=lambda difference: ("worse", "other", "better", "identical").index(difference.verdict)
                )
                if difference.verdict != "identical"
            ],
        }


def _means(compared: Sequence[Difference]) -> dict[str, dict[str, float]]:
    def both(read: Callable[[Any], float | None]) -> dict[str, float]:
        pairs = [(read(difference.left), read(difference.right)) for difference in compared]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        return {
            "before": round(mean(a for a, _ in known), 4) if known else 0.0,
            "after": round(mean(b for _, b in known), 4) if known else 0.0,
        }

    return {
        "score": both(lambda run: run.scores.overall if run.scores else None),
        "confidence": both(lambda run: run.confidence),
        "milliseconds": both(lambda run: run.milliseconds),
        "tokens": both(lambda run: float(run.tokens)),
        "cost_usd": both(lambda run: run.cost_usd),
    }


async def replay_many(
    replayer: Replayer,
    ids: Sequence[str],
    options: ReplayOptions,
    report: ReplayReport,
    *,
    at_once: int = AT_ONCE,
    progress: Callable[[ReplayReport], None] = lambda _: None,
) -> None:
    """Replay each question and add the results to the report; when cancelled, started replays finish on their own.

    Raises:
        UnavailableError: NATS is unavailable.
        AnswerbusError: the options are invalid for every question, such as an unknown pipeline.
    """
    waiting = iter(ids)

    async def work() -> None:
        for cid in waiting:
            try:
                recording = await replayer.recording(cid)
            except NotFoundError:  # it has expired since it was selected
                report.skipped["no longer in the log"] += 1
                continue
            try:
                report.replays.append(await replayer.replay(recording, options))
            except NotFoundError:
                raise  # no such pipeline: no replay can succeed
            except RefusedError as error:
                report.skipped[str(error)] += 1
            progress(report)

    tasks = [asyncio.create_task(work()) for _ in range(max(1, min(at_once, len(ids))))]
    try:
        await asyncio.gather(*tasks)
    except (asyncio.CancelledError, AnswerbusError):
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def sampled(ids: Sequence[str], count: int, seed: int) -> list[str]:
    """A random sample of at most `count` ids (0: all) in their order, the same for the same seed."""
    if not count or len(ids) <= count:
        return list(ids)
    chosen = set(random.Random(seed).sample(range(len(ids)), count))  # noqa: S311 (not for cryptography)
    return [identifier for number, identifier in enumerate(ids) if number in chosen]
