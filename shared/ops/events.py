"""`answerbus events show|tail`: one question's biography, and everything as it happens."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nats.aio.msg import Msg

from shared import subjects
from shared.clean import escaped, visible
from shared.errors import AnswerbusError
from shared.log import StoredEvent
from shared.ops import bus
from shared.ops.client import Client
from shared.ops.output import print_json, table
from shared.settings import Settings

CALL_COLUMNS = (
    *("stage", "step", "attempt", "role", "model", "prompt", "in", "cached", "out", "cost $"),
    *("ms", "first ms", "tries", "outcome"),
)
#: Payload fields that tell an event in one line.
TELLING = ("kind", "message", "rating", "engine", "confidence", "reason", "source", "outcome", "feedback", "text")


async def show(here: Client, question_id: str, *, as_json: bool) -> None:
    """Print the biography: what was said when, by which stage, how long it waited and was worked on."""
    events = await here.call("GET", f"/api/v1/events/{question_id}")
    if as_json:
        print_json(events)
        return
    first = datetime.fromisoformat(events[0]["time"])
    rows = []
    for event in events:
        at = (datetime.fromisoformat(event["time"]) - first).total_seconds() * 1e3
        last = event["timeline"][-1] if event["timeline"] else {"stage": "gateway", "waited_ms": 0, "worked_ms": 0}
        told = summary(event["payload"])
        row = [event["sequence"], round(at, 1), last["stage"], event["fact"], event["attempt"], last["waited_ms"]]
        rows.append([*row, last["worked_ms"], told])
    columns = ["seq", "at ms", "said by", "fact", "attempt", "waited ms", "worked ms", "says"]
    table(f"question {question_id}", columns, rows)
    asked = model_calls(events)
    if asked:
        print()
        table("models", CALL_COLUMNS, asked)


def model_calls(events: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """A row for each call of a model, in order; an event's calls are its cause's and those of the work in between."""
    rows: list[list[Any]] = []
    before: list[dict[str, Any]] = []
    for event in events:
        calls = event.get("model_calls", [])
        known = next((n for n, pair in enumerate(zip(before, calls, strict=False)) if pair[0] != pair[1]), len(before))
        for call in calls[known:]:
            usage = call["usage"]
            who = [call["stage"], call["step"], event["attempt"], call["role"], call["model"], call["prompt"]]
            tokens = [usage["input_tokens"], usage["cached_tokens"], usage["output_tokens"], f"{usage['cost_usd']:.6f}"]
            rows.append([*who, *tokens, call["milliseconds"], call["first_token_ms"], call["tries"], call["outcome"]])
        before = calls or before
    return rows


def summary(payload: dict[str, Any]) -> str:
    """A payload in one line."""
    parts = []
    if isinstance(payload.get("answer"), dict):
        parts.append(f"{payload['answer']['type']}: {_cut(payload['answer']['content'], 60)}")
    if "passages" in payload and "answer" not in payload:
        parts.append(f"{len(payload['passages'])} passages")
    if isinstance(payload.get("question"), dict):
        parts.append(f"[{payload['question']['language']}] {_cut(payload['question']['text'], 50)}")
    if payload.get("best_effort"):
        parts.append("best effort")
    if isinstance(payload.get("scores"), dict):
        parts.append(f"scored {payload['scores']['overall']:.2f} by {judge_of(payload)}")
    parts += addresses(payload.get("citations") or [])
    for key in TELLING:
        if payload.get(key) not in (None, "", []):
            parts.append(f"{key}={_cut(str(payload[key]), 40)}")
    return "; ".join(parts)


def addresses(citations: Sequence[dict[str, Any]]) -> list[str]:
    """What came of checking the addresses of citations, as far as they did not simply work."""
    told = Counter(one["checked"]["status"] for one in citations if one.get("checked"))
    return [f"{count} address{'es' * (count > 1)} {what}" for what, count in sorted(told.items()) if what != "works"]


def judge_of(payload: dict[str, Any]) -> str:
    """Who gave the scores: of a refuted answer that stands with its newest refutation."""
    refuted = payload.get("earlier", {}).get("refuted") or [{}]
    return str(payload.get("judged_by") or refuted[-1].get("judged_by", "rules"))


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


async def tail(settings: Settings, *, fact: str, cid: str, as_json: bool) -> None:
    """Print events as they are stored, until Ctrl-C.

    Raises:
        UnavailableError: no bus answers.
    """
    stopped = asyncio.Event()

    async def heard(message: Msg) -> None:
        headers = message.headers or {}
        subject = message.subject.removeprefix(f"{subjects.LIVE_PREFIX}.")
        stored = StoredEvent(subject, int(headers.get("Nats-Sequence", 0)), datetime.now().astimezone(), message.data)
        try:
            _line(stored, as_json=as_json, fact=fact, cid=cid)
        except BrokenPipeError:
            stopped.set()

    async with bus.connected(settings, "tail") as client:
        for root in ("qa", "bg"):
            await client.subscribe(subjects.live(f"{root}.*.*.*.*"), cb=heard)
        print("listening; Ctrl-C ends", file=sys.stderr)
        await stopped.wait()


def _line(stored: StoredEvent, *, as_json: bool, fact: str, cid: str) -> None:
    try:
        event = stored.decode()
    except AnswerbusError as error:
        print(f"{stored.sequence} {stored.subject}: {error}", flush=True)
        return
    if (fact and event.fact != fact) or (cid and event.correlation_id != cid):
        return
    if as_json:
        print(escaped(event.model_dump_json()), flush=True)
        return
    stage = event.timeline[-1].stage if event.timeline else "gateway"
    colour, plain = ("\x1b[36m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    told = visible(summary(event.payload.model_dump(mode="json")))
    print(f"{stored.sequence:>8} {stage:<11} {colour}{event.fact:<22}{plain} {event.correlation_id} {told}", flush=True)
