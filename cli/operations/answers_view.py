"""`answerbus ask` and `answerbus search`."""

from __future__ import annotations

import sys
from typing import Any

from cli.client import Client
from cli.output import print_json, table
from shared.text.sanitizer import visible


async def ask(here: Client, body: dict[str, Any], *, as_json: bool) -> dict[str, Any]:
    """Ask, show stages and tokens as they come, then the citations; returns the question's JSON."""
    asked = await here.call("POST", "/api/v1/questions", json=body)
    shown = Transcript(quiet=as_json)
    result: dict[str, Any] = {}
    async for event in here.stream(asked["id"]):
        shown.event(event.event, event.data)
        if event.event == "result":
            result = event.data
    if as_json:
        print_json(result)
    else:
        shown.close(result)
    return result


class Transcript:
    """What a person sees of a stream."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._tokens = 0

    def event(self, kind: str, data: dict[str, Any]) -> None:
        if self._quiet:
            return
        if kind == "status" and not self._tokens:
            print(
                f"\x1b[2m· {data['status'].lower().replace('_', ' ')}\x1b[0m" if _tty() else f"· {data['status']}",
                file=sys.stderr,
            )
        elif kind == "token":
            self._tokens += 1
            print(visible(data["text"]), end="", flush=True)
        elif kind == "reset":
            print("\n(a better draft follows)\n", flush=True)
            self._tokens = 0

    def close(self, question: dict[str, Any]) -> None:
        result = question["result"]
        if self._tokens:
            print()
        else:
            print(visible(result["answer"]["content"]))
        for citation in result["citations"]:
            where = citation["url"] or citation["source"]
            print(visible(f"  [{citation['number']}] {citation['title'] or citation['source']} — {where}"))
        for link in result["answer"].get("links", []):
            print(visible(f"  → {link['title'] or link['url']} — {link['url']}"))
        stages = result["timings"]["total_ms"]
        engine = f", engine {result['engine']}" if result["engine"] else ""
        if result.get("best_effort"):
            print(f"(the best of {result['attempts']} attempts; none passed)")
        told = f"{result['outcome']}, confidence {result['confidence']:.1f}/10{engine}, {stages:.0f} ms"
        print(f"{told}, id {question['id']}", file=sys.stderr)


def _tty() -> bool:
    return sys.stderr.isatty()


async def search(here: Client, body: dict[str, Any], *, as_json: bool) -> None:
    """Search and show the passages; with `explain` in the body what led to them comes first."""
    found = await here.call("POST", "/api/v1/search", json=body)
    if as_json:
        print_json(found)
        return
    if found.get("explanation"):
        _explain(found["explanation"], body["limit"])
    for retriever, reason in found.get("missing", {}).items():
        print(f"retriever {retriever} is missing: {reason}", file=sys.stderr)
    rows = [
        [
            round(one["score"], 3),
            "+".join(one["via"]),
            one["title"] or one["source"],
            one["text"][:160].replace("\n", " "),
        ]
        for one in found["passages"]
    ]
    table(f"{len(rows)} passages", ["score", "via", "title", "text"], rows)


def _explain(told: dict[str, Any], limit: int) -> None:
    """The ranking of each retriever, then what every ranking step changed."""
    for retriever in told["retrievers"]:
        hits = retriever["hits"]
        rows = [[one["rank"], round(one["score"], 4), one["title"] or one["source"]] for one in hits[:limit]]
        title = f"retriever {retriever['name']}, {retriever['took_ms']} ms, {len(hits)} found"
        table(title, ["rank", "score", "passage"], rows)
    for step in told["steps"]:
        after = {one["id"]: one for one in step["after"]}
        names = {one["id"]: one["title"] or one["source"] for one in (*step["before"], *step["after"])}
        head = f"{step['name']}, {step['took_ms']} ms"
        if not step["changes"] and step["before"]:
            moved = [one for one in step["before"] if one["rank"] != after.get(one["id"], one)["rank"]]
            head += f": {len(moved)} moved, {len(after) - len(step['before']):+d}" if moved else ": nothing changed"
        print(head if step["changes"] or step["before"] else f"{head}: {len(after) or 'nothing'}")
        for change in step["changes"][: limit * 2]:
            scores = " → ".join(str(change[key]) for key in ("before", "after") if key in change)
            line = " ".join(filter(None, (change["what"], scores, names.get(change.get("passage", ""), ""))))
            print(visible(f"    {line}"))
    print()
