"""Asking the questions of a file on the background lane, then waiting for their evaluations."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cli.client import Client
from cli.evaluation.batch_store import Side, Store
from cli.evaluation.questions_file import Item
from shared.contracts.errors import RefusedError, UnavailableError
from shared.contracts.outcome import REMEMBERED

#: Seconds for which a gateway that is away or refuses because of its backlog is asked again.
PATIENCE = 120.0
#: Seconds without any news after which no more evaluations are waited for, and between two looks.
SILENCE, PAUSE = 10.0, 0.25

Told = Callable[[], None]


class BudgetError(RefusedError):
    """The run has cost, or would cost, more than it may."""


@dataclass
class Batch:
    """A run: where it asks, which pipelines, and what has been done; `at_once` questions are asked side by side."""

    client: Client
    store: Store
    sides: list[Side]
    at_once: int = 4
    max_cost: float = 0.0

    @property
    def spent(self) -> float:
        """US dollars, by the platform's own account."""
        return sum(row_cost(row) for row in self.store.rows.values())

    def left(self, chains: list[list[Item]]) -> list[tuple[Side, list[Item]]]:
        """What is still to ask, the pipelines side by side."""
        work = [(side, chain) for chain in chains for side in self.sides]
        return [(side, chain) for side, chain in work if any(not self._done(side, item) for item in chain)]

    async def ask(self, work: Iterable[tuple[Side, list[Item]]], told: Told) -> None:
        """Ask what is left of the chains; `told` is called after every question.

        Raises:
            UnavailableError: the gateway stayed away; what was answered is kept.
            BudgetError: the run has cost more than `max_cost`; what was answered is kept.
        """
        queue = list(reversed(list(work)))

        async def worker() -> None:
            while queue:
                await self._chain(*queue.pop(), told)

        await together(worker() for _ in range(self.at_once))

    async def evaluations(self, told: Told) -> int:
        """Wait for the evaluations of the answers; how many never came (a pipeline may have them off)."""
        waiting = [(side, line) for side in self.sides for line, row in self.store.of(side).items() if _awaits(row)]
        heard = time.monotonic()
        while waiting and time.monotonic() - heard < SILENCE:
            before = len(waiting)
            queue, waiting = waiting, []

            async def worker(queue: list[tuple[Side, int]] = queue, missing: list[tuple[Side, int]] = waiting) -> None:
                while queue:
                    side, line = queue.pop()
                    if await self._evaluation(side, line):
                        told()
                    else:
                        missing.append((side, line))

            await together(worker() for _ in range(self.at_once))
            if len(waiting) < before:
                heard = time.monotonic()
            elif waiting:
                await asyncio.sleep(PAUSE)
        return len(waiting)

    def _done(self, side: Side, item: Item) -> bool:
        return self.store.get(side, item.line) is not None

    async def _chain(self, side: Side, chain: list[Item], told: Told) -> None:
        turns: list[dict[str, str]] = []
        for item in chain:
            if not self._done(side, item):
                if self.max_cost and self.spent >= self.max_cost:
                    raise BudgetError(f"the run has cost {self.spent:.4f} USD of {self.max_cost:.4f}; it was stopped")
                await self._question(side, item, turns)
                told()
            row = self.store.get(side, item.line) or {}
            if row.get("outcome") in REMEMBERED:
                turns.append({"question": item.question, "answer": str(row.get("answer", ""))})

    async def _question(self, side: Side, item: Item, turns: list[dict[str, str]]) -> None:
        body: dict[str, Any] = {
            "question": item.question,
            "pipeline": side.name,
            "language": item.language,
            "lane": "background",
            "turns": turns[-50:] if item.conversation else [],
        }
        if item.conversation:
            # Conversations of the record never mix with those of another run, or with an asker's.
            name = hashlib.sha256(item.conversation.encode()).hexdigest()[:16]
            body["conversation_id"] = f"evaluation.{self.store.run_id}.{name}.{self.sides.index(side)}"
        try:
            asked = await self._patiently("POST", "/api/v1/query", json=body)
        except RefusedError as error:
            self.store.put(side, item.line, outcome="refused", error=str(error))
            return
        self.store.put(side, item.line, **row_of(asked))

    async def _evaluation(self, side: Side, line: int) -> bool:
        row = self.store.rows[side.name, line]
        events = await self._patiently("GET", f"/api/v1/events/{row['id']}")
        found = evaluation_in(events)
        if found is None:
            return False
        self.store.put(side, line, **found)
        return True

    async def _patiently(self, method: str, path: str, **options: Any) -> Any:
        until, delay = time.monotonic() + PATIENCE, 0.25
        while True:
            try:
                return await self.client.call(method, path, **options)
            except UnavailableError:
                if time.monotonic() + delay > until:
                    raise
            await asyncio.sleep(delay)
            delay = min(5.0, 2 * delay)


async def together(work: Iterable[Any]) -> None:
    """Run coroutines side by side; the first error ends the others and is raised as it is."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def row_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What a run keeps of a question's JSON."""
    result = asked["result"]
    answer = result["answer"]
    usage = result.get("usage") or {}
    return {
        "id": asked["id"],
        "revision": (asked.get("pipeline") or {}).get("revision", 0),
        "outcome": result["outcome"],
        "type": answer["type"],
        "answer": answer["content"],
        "sentences": [{"text": one["text"], "citations": one["citations"]} for one in answer.get("sentences", [])],
        "citations": [
            {name: one.get(name, "") for name in ("number", "source", "title", "url", "quote")}
            for one in result["citations"]
        ],
        "confidence": result["confidence"],
        "engine": result["engine"],
        "language": result["context"].get("language", ""),
        "scores": result.get("scores"),
        "judged_by": result.get("judged_by", ""),
        "attempts": result.get("attempts", 1),
        "best_effort": result.get("best_effort", False),
        "kind": (result.get("rejection") or result.get("error") or {}).get("kind", ""),
        "total_ms": result["timings"]["total_ms"],
        "stages": {one["stage"]: one["waited_ms"] + one["worked_ms"] for one in result["timings"]["stages"]},
        "tokens": usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
        "cost_usd": usage.get("cost_usd", 0.0),
    }


def evaluation_in(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The evaluation among a question's events, said afterwards or with the answer, and what it cost by itself."""
    payloads = {one["fact"]: one for one in events}
    verified, said = payloads.get("AnswerVerified"), payloads.get("ExchangeEvaluated")
    if said is not None:
        before = len(verified["model_calls"]) if verified else 0
        cost = sum(call["usage"]["cost_usd"] for call in said["model_calls"][before:])
        return {"evaluation": said["payload"], "evaluation_cost_usd": cost}
    inline = verified["payload"].get("evaluation") if verified else None
    return {"evaluation": inline, "evaluation_cost_usd": 0.0} if inline else None


def row_cost(row: dict[str, Any]) -> float:
    """US dollars: the answer, its evaluation, and comparing it with the expected one."""
    return float(sum(row.get(name) or 0.0 for name in ("cost_usd", "evaluation_cost_usd", "agreement_cost_usd")))


def _awaits(row: dict[str, Any]) -> bool:
    """Whether an evaluation may still come: for answers that state something."""
    return row.get("outcome") == "answered" and bool(row.get("sentences")) and "evaluation" not in row
