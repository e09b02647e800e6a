"""Votes given in conversations that are forgotten."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.retrieval.feedback_store import FeedbackStore
from shared.contracts.errors import UnavailableError

NOW = datetime.now(UTC)
SECRET = "Zyxquwertvbnalsk"


async def test_votes_of_forgotten_conversations_count_no_longer_and_others_do(tmp_path: Path) -> None:
    box = FeedbackStore(tmp_path / "votes.db")
    await box.open()
    box.put(["kb:a", "kb:b"], "default/ann", "c-1", 1, NOW)
    box.put(["kb:b"], "default/bob", "c-2", 1, NOW)
    box.put(["kb:c"], "other/ann", "c-1", 1, NOW)
    assert "kb:a" in box.votes(["kb:a"])

    box.forget(["c-1", "c-9"], "default")

    assert box.votes(["kb:a"]) == {}
    assert "kb:b" in box.votes(["kb:b"])
    assert "kb:c" in box.votes(["kb:c"])  # the same name on another tenant's platform
    await box.close()


async def test_forgotten_votes_are_off_the_disk(tmp_path: Path) -> None:
    box = FeedbackStore(tmp_path / "votes.db")
    await box.open()
    for number in range(100):
        box.put([f"kb:{number}"], f"default/{SECRET}", "c-1", 1, NOW)
    before = holds(tmp_path)

    box.forget(["c-1"], "default")

    assert before
    assert not holds(tmp_path)
    await box.close()


async def test_deleting_from_a_file_that_is_not_open_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError):
        FeedbackStore(tmp_path / "votes.db").forget(["c-1"], "default")


def holds(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in folder.iterdir())
