"""Pairs of a split: questions of the same words that the live pipeline and a candidate have answered.

Their texts are read from the platform when a judge needs them. What is kept here has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.client import GatewayClient
from cli.experiments.judge import judged_ids, preferences, read_judgements
from cli.experiments.pairs import Pair, pair_of
from cli.experiments.review import ReviewOrder, read_review
from cli.experiments.shadow import PAIRS, read_pairs
from shared.contracts.errors import NotFoundError, RefusedError
from shared.contracts.requests.reviews import ReviewPair

_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


@dataclass(frozen=True)
class CandidatePairs:
    """The pairs of one candidate by their ids, the first questions first; `live` and `candidate` are labels."""

    arm: str
    live: str
    candidate: str
    ids: Sequence[ReviewPair]
    folder: Path


async def fetch_split_pairs(client: GatewayClient, name: str, arm: str, folder: Path) -> CandidatePairs:
    """The pairs of a split's candidate (empty: the only one); what is said of them is kept in `folder`, by arm.

    Raises:
        NotFoundError: there is no split of this name.
        RefusedError: there are several candidates and none was named.
    """
    told = await client.call("GET", f"/api/v1/experiments/{name}/pairs", params={"arm": arm})
    ids = [ReviewPair.model_validate(one) for one in told["pairs"]]
    return CandidatePairs(told["arm"], told["live"], told["candidate"], ids, arm_folder(folder, told["arm"]))


def arm_folder(folder: Path, arm: str) -> Path:
    """Where what is said of a candidate's pairs is kept; a new folder, if there is none.

    Raises:
        RefusedError: there cannot be one.
    """
    found = folder / arm
    try:
        found.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{found}: {error.strerror}") from None
    return found


def order_of(split: CandidatePairs, name: str, title: str, most: int) -> ReviewOrder:
    """The first `most` pairs as a review; its name is the split's with the candidate's.

    Raises:
        RefusedError: there is no pair.
    """
    _check_some(split, name)
    plain = "".join(one if one in _IN_NAMES else "-" for one in split.arm.lower())
    return ReviewOrder(f"{name}-{plain}"[:60], title, split.live, split.candidate, split.ids[:most])


async def unjudged_pairs(
    client: GatewayClient, split: CandidatePairs, name: str, most: int, at_once: int
) -> list[Pair]:
    """Those of the first `most` pairs that no judge has read, with their texts; without them they are kept.

    Pairs that were erased or have expired meanwhile are left out.

    Raises:
        RefusedError: there is no pair, or what is kept cannot be read.
    """
    _check_some(split, name)
    judged = judged_ids(split.folder)
    wanted = [one for one in split.ids[:most] if (one.live, one.shadow) not in judged]
    known = {(one.live.id, one.shadow.id) for one in read_pairs(split.folder)}
    found: list[Pair] = []
    for start in range(0, len(wanted), at_once):
        read = await asyncio.gather(*(_read(client, one) for one in wanted[start : start + at_once]))
        found += [pair for pair in read if pair is not None]
    with (split.folder / PAIRS).open("a", encoding="utf-8") as file:
        file.writelines(
            f"{_without_texts(pair).model_dump_json()}\n"
            for pair in found
            if (pair.live.id, pair.shadow.id) not in known
        )
    return found


def said_of_split(folder: Path, arms: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What a judge and experts have said of each candidate's pairs: `judge` and `experts`, by arm.

    Raises:
        RefusedError: something in a folder cannot be read.
    """
    said: dict[str, dict[str, Any]] = {"judge": {}, "experts": {}}
    for arm in arms:
        kept = folder / arm
        if judged := preferences(read_pairs(kept), read_judgements(kept)):
            said["judge"][arm] = judged
        if result := read_review(kept).get("result"):
            said["experts"][arm] = result
    return said


def _check_some(split: CandidatePairs, name: str) -> None:
    if not split.ids:
        raise RefusedError(
            f"{name}: no question of the same words was answered by {split.live} and {split.candidate} yet"
        )


async def _read(client: GatewayClient, ids: ReviewPair) -> Pair | None:
    try:
        live = await client.call("GET", f"/api/v1/exchanges/{ids.live}")
        candidate = await client.call("GET", f"/api/v1/exchanges/{ids.shadow}")
    except NotFoundError:
        return None
    return pair_of(live, candidate)


def _without_texts(pair: Pair) -> Pair:
    sides = {name: getattr(pair, name).model_copy(update={"answer": ""}) for name in ("live", "shadow")}
    return pair.model_copy(update={"question": "", **sides})
