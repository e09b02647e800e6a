"""Experts compare pairs of answers in the console; this sends them and reads what the experts said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from cli.client import GatewayClient
from cli.evaluation import plots
from cli.experiments.pairs import Pair
from shared.contracts.errors import RefusedError
from shared.contracts.requests.reviews import MOST_PAIRS, ReviewPair
from shared.text.sanitizer import visible

#: The id of the review, and what experts had said when it was read last.
REVIEW = "review.json"
NAMES = ("candidate", "tie", "bad", "live")


def read_review(folder: Path) -> dict[str, Any]:
    """What is kept in the folder of an experiment; empty where its pairs were not sent to experts.

    Raises:
        RefusedError: it cannot be read.
    """
    path = folder / REVIEW
    try:
        return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}
    except (OSError, ValueError):
        raise RefusedError(f"{path}: cannot be read; remove it, or send the pairs again") from None


@dataclass(frozen=True)
class ReviewOrder:
    """Pairs to put before experts by their ids; `title` is what these read, `live` and `candidate` are labels."""

    name: str
    title: str
    live: str
    candidate: str
    ids: Sequence[ReviewPair]


def order_of(name: str, title: str, pairs: Sequence[Pair]) -> ReviewOrder:
    """The pairs of a shadow run."""
    live = ", ".join(dict.fromkeys(pair.live.pipeline for pair in pairs))
    ids = [ReviewPair(live=pair.live.id, shadow=pair.shadow.id) for pair in pairs]
    return ReviewOrder(name, title, live, pairs[0].shadow.pipeline, ids)


async def send_pairs(client: GatewayClient, order: ReviewOrder, folder: Path) -> dict[str, Any]:
    """Put the first pairs before the experts; only their ids are sent. Returns how many the review has.

    Raises:
        RefusedError: there is nothing to compare, or the review is of other pipelines.
        UnavailableError: the gateway is away.
    """
    body = {
        "name": order.name,
        "title": order.title,
        "live": order.live[:250],
        "candidate": order.candidate,
        "pairs": [one.model_dump() for one in order.ids[:MOST_PAIRS]],
    }
    sent: dict[str, Any] = await client.call("POST", "/api/v1/reviews", json=body)
    _keep(folder, {"id": sent["id"]})
    return sent


async def fetch_result(client: GatewayClient, folder: Path) -> None:
    """Keep what experts have said so far.

    Raises:
        NotFoundError: the review was removed.
        UnavailableError: the gateway is away.
    """
    review = read_review(folder)
    _keep(folder, {"id": review["id"], "result": await client.call("GET", f"/api/v1/reviews/{review['id']}")})


async def remove_review(client: GatewayClient, folder: Path) -> None:
    """Delete the review with its judgements, there and here.

    Raises:
        RefusedError: its pairs were not sent.
    """
    review = read_review(folder)
    if not review:
        raise RefusedError(f"{folder}: its pairs were not sent to experts")
    await client.call("DELETE", f"/api/v1/reviews/{review['id']}")
    (folder / REVIEW).unlink()


def expert_rows(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What experts prefer, by row: all together, each of them, and each segment."""
    experts = {one["expert"]: one for one in result["experts"]}
    segments = {f"{one['segment']}: {one['value']}": one for one in result["segments"]}
    return {"all": result["together"], **experts, **segments}


def agreement_text(result: Mapping[str, Any]) -> str:
    """How far experts agree, in words."""
    if result["agreement"] is None:
        return "no pair was judged by two experts with different categories, so agreement is not known"
    return f"agreement of experts (Krippendorff's alpha) {result['agreement']:.2f} on {result['shared']} pairs"


def experts_html(result: Mapping[str, Any]) -> str:
    """A bar of wins, ties and losses for each row, and what experts wrote."""
    rows = {
        row: {name: one[name] / one["pairs"] for name in NAMES}
        for row, one in expert_rows(result).items()
        if one["pairs"]
    }
    judged = result["together"]["pairs"]
    text = (
        f"{judged} of {result['pairs']} pairs judged without knowing whose answer is whose; {agreement_text(result)}."
    )
    told = [f"{one['expert']}, question {one['id']} ({one['choice']}): {one['comment']}" for one in result["comments"]]
    comments = "".join(f"<li>{escape(visible(one))}</li>" for one in told)
    return f"<p>{escape(text)}</p>{plots.shares(rows, NAMES)}" + (f"<ul>{comments}</ul>" if comments else "")


def _keep(folder: Path, review: Mapping[str, Any]) -> None:
    try:
        (folder / REVIEW).write_text(json.dumps(review, ensure_ascii=False, indent=2) + "\n", "utf-8")
    except OSError as error:
        raise RefusedError(f"{folder / REVIEW}: {error.strerror}") from None
