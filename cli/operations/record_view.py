"""The record as people read it, and as a file."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cli.client import Client
from cli.output import print_json, table
from shared.text.sanitizer import visible


async def show_page(here: Client, wanted: dict[str, Any], *, as_json: bool) -> None:
    """One page of exchanges."""
    page = await here.call("GET", "/api/v1/exchanges", params=wanted)
    if as_json:
        print_json(page)
        return
    rows = [
        [
            one["id"],
            one["ended_at"][:19].replace("T", " "),
            one["pipeline"],
            one["outcome"],
            round(one["elapsed_ms"]),
            f"+{one['feedback_up']} -{one['feedback_down']}",
            one["question"].replace("\n", " ")[:80],
        ]
        for one in page["exchanges"]
    ]
    table(f"{len(rows)} exchanges", ["id", "ended (UTC)", "pipeline", "outcome", "ms", "rated", "question"], rows)
    if page["after"]:
        print(f"there are more: --after {page['after']}", file=sys.stderr)


async def show_exchange(here: Client, exchange_id: str, *, as_json: bool) -> None:
    """One exchange with what was said about it."""
    told = await here.call("GET", f"/api/v1/exchanges/{exchange_id}")
    if as_json:
        print_json(told)
        return
    exchange = told["exchange"]
    print(visible(f"? {exchange['question']}\n\n{exchange['answer_text']}\n"))
    for citation in exchange["citations"]:
        print(visible(f"  [{citation['number']}] {citation['title'] or citation['source']} — {citation['source']}"))
    keys = ["pipeline", "pipeline_revision", "lane", "outcome", "kind", "engine", "confidence", "conversation_id"]
    keys += ["asked_at", "ended_at", "elapsed_ms"]
    scores = (told["evaluation"] or {}).get("scores") or exchange["scores"] or {}
    rows = [[key, exchange[key]] for key in keys] + [[f"score: {key}", value] for key, value in scores.items()]
    rows += [[key, value] for key, value in exchange["usage"].items()]
    table("exchange", ["what", "value"], rows)
    steps = [[one["stage"], one["waited_ms"], one["worked_ms"]] for one in exchange["timeline"]]
    table("times", ["stage", "waited ms", "worked ms"], steps)
    passages = [[one["source"], round(one["score"], 3), "+".join(one["via"])] for one in exchange["passages"]]
    table("passages shown", ["source", "score", "via"], passages)
    said = [[one["at"][:19], one["rating"], one["by"], one["comment"] or one["reason"]] for one in told["feedback"]]
    table("feedback", ["at (UTC)", "rating", "by", "comment"], said)


async def export_to(here: Client, file: Path, wanted: dict[str, Any]) -> None:
    """Write the export to a file, or to standard output for `-`; a file appears under its name when it is whole.

    Raises:
        UnavailableError: the export broke off.
    """
    if str(file) == "-":
        async for piece in here.download("/api/v1/exchanges/export", params=wanted):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    size = 0
    part = file.with_name(f"{file.name}.part")
    with ExitStack() as undoing:
        undoing.callback(part.unlink, missing_ok=True)
        with part.open("wb") as output:
            part.chmod(0o600)
            async for piece in here.download("/api/v1/exchanges/export", params=wanted):
                size += output.write(piece)
        part.replace(file)
    print(f"{file}: {size:,} bytes", file=sys.stderr)


async def show_stats(here: Client, hours: float, *, as_json: bool) -> None:
    """The statistics as tables."""
    told = await here.call("GET", "/api/v1/stats", params={"hours": hours})
    if as_json:
        print_json(told)
        return
    since = told["since"][:16].replace("T", " ")
    rows = [["questions", told["total"]], *([f"  {name}", count] for name, count in told["outcomes"].items())]
    rows += [[f"share {name.replace('_', ' ')}", share] for name, share in told["rates"].items()]
    for title, scores in (("scored", told["scores"]), ("evaluated", told["evaluations"])):
        rows += [[title, scores["count"]], [f"  mean {title}", scores["overall"]]]
    rows += [["rated up", told["feedback_up"]], ["rated down", told["feedback_down"]]]
    table(f"since {since} UTC", ["what", "figure"], rows)
    kept = [["whole question", None, None, None, *told["elapsed"].values()]]
    kept += [[one["stage"], *one["waited"].values(), *one["worked"].values()] for one in told["stages"]]
    heads = ["stage", "waited p50", "p95", "p99", "worked p50", "p95", "p99"]
    table("times in ms", heads, kept)
    keys = ["pipeline", "model", "calls", "input_tokens", "output_tokens", "cached_tokens", "cost_usd"]
    table("models", [key.replace("_", " ") for key in keys], [[one[key] for key in keys] for one in told["models"]])
