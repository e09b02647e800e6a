"""Pairs of a split: texts are read for the judge and not kept, and what was erased meanwhile is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.experiments.judge import PairJudgement
from cli.experiments.shadow import read_pairs
from cli.experiments.split_pairs import CandidatePairs, fetch_split_pairs, order_of, said_of_split, unjudged_pairs
from shared.contracts.errors import NotFoundError, RefusedError
from shared.contracts.requests.reviews import ReviewPair

IDS = [ReviewPair(live=f"{number:032x}", shadow=f"f{number:031x}") for number in range(1, 31)]


class Platform:
    """A split of which the record has every pair but one."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        if path == "/api/v1/experiments/trial/pairs":
            pairs = [one.model_dump() for one in IDS]
            return {"arm": "Short@3", "live": "default@1", "candidate": "Short@3", "pairs": pairs}
        question_id = path.rsplit("/", 1)[1]
        self.read.append(question_id)
        if question_id == IDS[2].shadow:
            raise NotFoundError("no exchange (HTTP 404)")
        return {"exchange": exchange(question_id)}


def exchange(question_id: str) -> dict[str, Any]:
    return {
        "id": question_id,
        "pipeline": "default",
        "pipeline_revision": 1,
        "question": "Where is zanzibar?",
        "language": "eng",
        "outcome": "answered",
        "answer_text": f"zanzibar {question_id}",
        "answer": {"type": "normal"},
        "scores": None,
        "confidence": 8.0,
        "elapsed_ms": 50.0,
        "usage": {"cost_usd": 0.0},
        "citations": [],
        "context": {},
        "details": {},
    }


async def split_of(platform: Platform, folder: Path) -> CandidatePairs:
    return await fetch_split_pairs(platform, "trial", "", folder)  # type: ignore[arg-type]


async def unjudged(platform: Platform, split: CandidatePairs, most: int) -> list[str]:
    """The live ids of the pairs that are left to judge."""
    found = await unjudged_pairs(platform, split, "trial", most, 4)  # type: ignore[arg-type]
    assert all("zanzibar" in pair.question and "zanzibar" in pair.shadow.answer for pair in found)
    return [pair.live.id for pair in found]


async def test_texts_are_read_for_the_judge_and_neither_kept_nor_read_again(tmp_path: Path) -> None:
    platform = Platform()
    split = await split_of(platform, tmp_path)
    assert await unjudged(platform, split, 5) == [IDS[at].live for at in (0, 1, 3, 4)]
    kept = tmp_path / "Short@3"
    assert "zanzibar" not in (kept / "pairs.jsonl").read_text()
    said = PairJudgement(live=IDS[0].live, shadow=IDS[0].shadow, straight="second", swapped="first")
    (kept / "judgements.jsonl").write_text(said.model_dump_json() + "\n")
    platform.read.clear()
    assert await unjudged(platform, split, 5) == [IDS[at].live for at in (1, 3, 4)]
    assert IDS[0].live not in platform.read
    assert len(read_pairs(kept)) == 4
    told = said_of_split(tmp_path, ["Short@3", "other"])
    assert (told["judge"]["Short@3"]["candidate"], told["experts"]) == (1, {})
    assert list(told["judge"]) == ["Short@3"]


async def test_a_review_of_a_split_has_a_name_that_the_platform_takes(tmp_path: Path) -> None:
    split = await split_of(Platform(), tmp_path)
    order = order_of(split, "trial", "March", 3)
    assert (order.name, order.title, order.candidate) == ("trial-short-3", "March", "Short@3")
    assert order.ids == IDS[:3]
    assert len(order_of(split, "x" * 60, "", 3).name) == 60
    nothing = CandidatePairs("a", "default@1", "a@2", [], tmp_path)
    with pytest.raises(RefusedError, match="no question of the same words was answered by default@1 and a@2"):
        order_of(nothing, "trial", "", 3)
