"""A shadow run: a share of the live questions is asked again of a candidate pipeline, on the background lane."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.json_lines import kept_lines
from answerbus_lab.experiments.guards import Halt, Limits, halted
from answerbus_lab.experiments.pairs import Pair, pair_of
from cli.client import GatewayClient
from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError

PAIRS = "pairs.jsonl"
#: Seconds between two looks for questions that have ended, and for the end of a shadow. Every look costs the platform
#: about as much as a question per page of it, so they are rare and the pages are short.
LOOK, POLL, PAGE = 2.0, 0.5, 20
#: Seconds that a shadow may take to be on record.
PATIENCE = 300.0
#: Endings that are not repeated: nothing was computed, or nobody waited for it.
_SKIPPED = frozenset({"withdrawn", "reused", "rejected", "escalated"})


def read_pairs(folder: Path) -> list[Pair]:
    """The pairs that are kept in a folder; an incomplete last line is dropped.

    Raises:
        RefusedError: they cannot be read.
    """
    path = folder / PAIRS
    try:
        return [Pair.model_validate_json(line) for line in kept_lines(path)]
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise RefusedError(f"{path}: does not hold the pairs of an experiment") from None


async def resolved(client: GatewayClient, pipeline: str) -> str:
    """NAME@REVISION of a stored pipeline, the newest one if no revision is named.

    Raises:
        NotFoundError: no pipeline has that name.
    """
    name, _, revision = pipeline.partition("@")
    stored = {pipeline["name"]: pipeline["revision"] for pipeline in await client.call("GET", "/api/v1/pipelines")}
    if name not in stored:
        raise NotFoundError(f"unknown pipeline {name}; stored pipelines: {', '.join(sorted(stored))}")
    return f"{name}@{revision or stored[name]}"


@dataclass
class ShadowRun:
    """Follows the live questions of `pipeline` and asks the share of them again of `candidate`, `at_once` at a time.

    Pairs are kept in `folder`, so that the same command continues after it was stopped.
    """

    client: GatewayClient
    name: str
    pipeline: str
    candidate: str
    share: float
    limits: Limits
    folder: Path
    at_once: int = 2
    pairs: list[Pair] = field(default_factory=list)
    skipped: int = 0
    _seen: set[str] = field(default_factory=set)

    def open(self) -> None:
        """Read the pairs of an earlier run of the same name; an incomplete last line is dropped.

        Raises:
            RefusedError: the folder cannot be used, or holds pairs of other pipelines.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RefusedError(f"{self.folder}: {error.strerror}") from None
        self.pairs = read_pairs(self.folder)
        self._seen = {pair.live.id for pair in self.pairs}
        names = {pair.shadow.pipeline for pair in self.pairs}
        if names - {self.candidate}:
            raise RefusedError(f"{self.folder}: holds pairs of {', '.join(sorted(names))}; choose another name")

    async def run(self, seconds: float, advance: Callable[[], None]) -> Halt:
        """Ask shadows until a limit or a guard ends it, or for this many seconds; `advance` is called after each pair.

        Raises:
            RefusedError: the gateway may not replay, or the caller is not an operator.
            UnavailableError: the gateway stayed away.
        """
        began = datetime.now(UTC)
        until, looked = time.monotonic() + seconds, -math.inf
        while True:
            if halt := halted(self.pairs, self.limits):
                return halt
            if time.monotonic() >= until:
                return Halt(f"the time is over: {seconds:g} s")
            await asyncio.sleep(max(0.0, min(looked + LOOK, until) - time.monotonic()))
            looked = time.monotonic()
            chosen = [exchange for exchange in await self._ended(began) if self._chooses(exchange)]
            for start in range(0, len(chosen), self.at_once):
                found = await asyncio.gather(
                    *(self._pair(exchange) for exchange in chosen[start : start + self.at_once])
                )
                for pair in found:
                    self._keep(pair, advance)
                if halted(self.pairs, self.limits) or time.monotonic() >= until:
                    break

    async def _ended(self, since: datetime) -> list[dict[str, Any]]:
        """The live questions that have ended since then and were not seen yet, oldest first."""
        params = {"lane": "live", "pipeline": self.pipeline, "since": since.isoformat(), "limit": PAGE}
        found: list[dict[str, Any]] = []
        while True:
            page = await self.client.call("GET", "/api/v1/exchanges", params=params)
            fresh = [exchange for exchange in page["exchanges"] if exchange["id"] not in self._seen]
            found += fresh
            if not page["after"] or len(fresh) < len(page["exchanges"]):
                return found[::-1]
            params = {**params, "after": page["after"]}

    def _chooses(self, exchange: dict[str, Any]) -> bool:
        """Whether the question belongs to the share; the same ones whenever and wherever this is asked."""
        self._seen.add(exchange["id"])
        if exchange["outcome"] in _SKIPPED:
            return False
        drawn = int.from_bytes(hashlib.sha256(f"{self.name} {exchange['id']}".encode()).digest()[:8], "big")
        return drawn < self.share * 2**64

    async def _pair(self, exchange: dict[str, Any]) -> Pair | None:
        """The question and its shadow, once that is on record; None if the question cannot be asked again any more."""
        path = f"/api/v1/questions/{exchange['id']}/replays"
        try:
            started = await self.client.call("POST", path, json={"pipeline": self.candidate})
        except NotFoundError:  # erased meanwhile, or its events have expired
            return None
        live = await self.client.call("GET", f"/api/v1/exchanges/{exchange['id']}")
        shadow = await self._recorded(started["id"])
        return pair_of(live, shadow)

    async def _recorded(self, question_id: str) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                reply: dict[str, Any] = await self.client.call("GET", f"/api/v1/exchanges/{question_id}")
            except NotFoundError:
                if time.monotonic() > until:
                    reason = (
                        f"the shadow {question_id} has not ended after {PATIENCE:g} s; is the background lane paused?"
                    )
                    raise UnavailableError(reason) from None
                await asyncio.sleep(POLL)
            else:
                return reply

    def _keep(self, pair: Pair | None, advance: Callable[[], None]) -> None:
        if pair is None:
            self.skipped += 1
            return
        with (self.folder / PAIRS).open("a", encoding="utf-8") as file:
            file.write(pair.model_dump_json() + "\n")
        self.pairs.append(pair)
        advance()
