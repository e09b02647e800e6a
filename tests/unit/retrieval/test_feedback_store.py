"""Votes on sources: kept once, counted once for each voter, fading with age."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.retrieval.feedback_store import FeedbackRecorder, FeedbackStore
from services.retrieval.rankers.feedback import HALF_LIFE_DAYS, Vote, Votes, counted
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import Event, opening
from shared.contracts.errors import TransientError, UnavailableError
from shared.contracts.facts import FeedbackGiven
from tests.support.memory_bus import MemoryLog

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[FeedbackStore]:
    box = FeedbackStore(tmp_path / "retrieval" / "votes.db", clock=NOW.timestamp)
    await box.open()
    yield box
    await box.close()


def vote(rating: int, *, voter: str = "web", age: float = 0) -> Vote:
    return Vote(voter, rating, age)


def given(rating: int = -1, *, by: str = "web", conversation: str = "c", number: int = 7) -> Event[FeedbackGiven]:
    fact = FeedbackGiven(rating=rating, by=by, sources=("kb:a",))  # type: ignore[arg-type]
    return opening(
        "gateway",
        fact,
        pipeline=PipelineRef(name="default", revision=1),
        deadline_seconds=60,
        conversation_id=conversation,
        number=number,
    )


def test_a_thousand_votes_of_one_voter_count_for_no_more_than_one() -> None:
    assert counted([vote(-1)] * 1000) == counted([vote(-1)]) == Votes(down=1)


def test_one_other_voter_balances_a_thousand_votes() -> None:
    votes = [vote(-1, voter="crowd")] * 1000 + [vote(1, voter="desk")]

    assert counted(votes) == Votes(up=1, down=1)


def test_a_voters_voice_is_the_mean_of_its_conversations() -> None:
    assert counted([vote(1)] * 3 + [vote(-1)]) == Votes(up=0.5)


def test_a_vote_counts_half_after_its_half_life_and_newer_ones_weigh_more() -> None:
    assert counted([vote(1, age=HALF_LIFE_DAYS)]) == Votes(up=0.5)
    assert counted([vote(1, age=2 * HALF_LIFE_DAYS), vote(-1)]) == Votes(down=pytest.approx(0.6))  # type: ignore[arg-type]


async def test_a_vote_kept_twice_is_one_and_an_older_one_changes_nothing(box: FeedbackStore) -> None:
    box.put(["kb:a"], "web", "c", 1, NOW)
    box.put(["kb:a"], "web", "c", 1, NOW)
    box.put(["kb:a"], "web", "c", -1, NOW - timedelta(seconds=1))

    assert box.votes(["kb:a"]) == {"kb:a": Votes(up=1)}
    assert box.votes(["kb:b"]) == {}


async def test_the_later_vote_of_a_conversation_replaces_the_earlier_one_and_is_seen_at_once(
    box: FeedbackStore,
) -> None:
    box.put(["kb:a"], "web", "c", 1, NOW - timedelta(seconds=5))
    assert box.votes(["kb:a"]) == {"kb:a": Votes(up=pytest.approx(1, abs=1e-5))}  # type: ignore[arg-type]

    box.put(["kb:a"], "web", "c", -1, NOW)

    assert box.votes(["kb:a"]) == {"kb:a": Votes(down=1)}


async def test_the_votes_on_many_sources_are_read_at_once_and_counted_again_after_a_vote(box: FeedbackStore) -> None:
    box.put(["kb:a", "kb:b"], "web", "c", 1, NOW)
    asked = ["kb:b", "kb:none", "kb:a", "kb:b"]
    assert box.votes(asked) == {"kb:a": Votes(up=1), "kb:b": Votes(up=1)}

    box.put(["kb:a"], "app", "c", 1, NOW)
    box.forget_sources(["kb:b"])

    assert box.votes(asked) == {"kb:a": Votes(up=2)}


async def test_no_more_than_so_many_conversations_of_a_voter_are_kept(box: FeedbackStore, tmp_path: Path) -> None:
    for number in range(230):
        box.put(["kb:a"], "web", f"c{number}", -1, NOW + timedelta(seconds=number))

    with sqlite3.connect(tmp_path / "retrieval" / "votes.db") as file:
        assert file.execute("select count(*), min(at) from votes").fetchone() == (200, NOW.timestamp() + 30)


async def test_votes_outlive_the_process(box: FeedbackStore, tmp_path: Path) -> None:
    box.put(["kb:a"], "web", "c", -1, NOW)
    await box.close()
    again = FeedbackStore(tmp_path / "retrieval" / "votes.db", clock=NOW.timestamp)
    await again.open()

    assert again.votes(["kb:a"]) == {"kb:a": Votes(down=1)}
    await again.close()


async def test_without_its_file_a_search_goes_on_and_a_vote_is_tried_again(tmp_path: Path) -> None:
    closed = FeedbackStore(tmp_path / "votes.db")
    event = given()

    assert closed.votes(["kb:a"]) == {}
    with pytest.raises(TransientError):
        await FeedbackRecorder(closed, MemoryLog()).record(event.payload, event)


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "votes.db").write_bytes(b"not a database at all, but long enough to be looked at" * 20)

    with pytest.raises(UnavailableError, match="cannot be opened"):
        await FeedbackStore(tmp_path / "votes.db").open()


async def test_every_worker_records_what_one_of_them_consumes(tmp_path: Path) -> None:
    event_log = MemoryLog()
    boxes = [FeedbackStore(tmp_path / f"{number}.db") for number in range(2)]
    workers = [FeedbackRecorder(box, event_log) for box in boxes]
    for worker in workers:
        await worker.open()

    event = given()
    await event_log.publish(event)
    await workers[0].record(event.payload, event)

    for worker in workers:
        assert worker.votes(["kb:a"])["kb:a"].down == pytest.approx(1, abs=1e-3)
        await worker.close()


async def test_what_is_tried_out_on_the_background_lane_has_no_vote(tmp_path: Path) -> None:
    event_log = MemoryLog()
    box = FeedbackStore(tmp_path / "votes.db")
    worker = FeedbackRecorder(box, event_log)
    await worker.open()

    event = given().model_copy(update={"lane": Lane.BACKGROUND})
    await event_log.publish(event)
    await worker.record(event.payload, event)

    assert worker.votes(["kb:a"]) == {}
    await worker.close()
