"""Figures over time, ratings and comparisons over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from services.persistence import projection
from services.persistence.ports import Feedback
from tests.support.record_stage import record_stage
from tests.support.records import NOON, question_id, said, sqlite_record, verified
from tests.unit.gateway.harness import running_gateway

PERIOD = {"from": "2026-11-20T12:00:00", "to": "2026-11-20T13:00:00"}


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A gateway with a record of two answers, the second one rated down with a comment."""
    async with sqlite_record(tmp_path) as record, running_gateway() as here:
        for number in range(2):
            event = said(verified(f"Question {number}?"), question=question_id(number))
            await record.save(projection.exchange(event.payload, event))
        rating = Feedback(
            event_id="f", exchange_id=question_id(1), rating=-1, reason="incorrect", comment="No.", by="web", at=NOON,
            pipeline="default",
        )  # fmt: skip
        await record.save(rating)
        here.bus.stages.append(record_stage(record, here.bus.context()))
        yield here.http


async def test_figures_over_time_are_those_of_the_period_and_the_pipeline(http: httpx.AsyncClient) -> None:
    told = (await http.get("/api/v1/stats/series", params=PERIOD)).json()
    other = (await http.get("/api/v1/stats/series", params={**PERIOD, "pipeline": "other"})).json()

    (point,) = told["points"]
    assert (point["starts_at"], point["total"], point["sentiment"]["down"]) == ("2026-11-20T12:00:00Z", 2, 1)
    assert (told["step"], other["points"]) == ("hour", [])


async def test_without_a_period_it_is_the_last_day(http: httpx.AsyncClient) -> None:
    told = (await http.get("/api/v1/stats/series")).json()

    assert told["points"] == []
    assert told["since"] < told["until"]


async def test_ratings_have_their_comment_and_question(http: httpx.AsyncClient) -> None:
    told = (await http.get("/api/v1/feedback", params={"rating": "down", "commented": "true"})).json()

    (line,) = told["feedback"]
    assert (line["comment"], line["reason"], line["question"]) == ("No.", "incorrect", "Question 1?")
    assert (line["question_id"], told["after"]) == (question_id(1), "")
    assert (await http.get("/api/v1/feedback", params={"rating": "up"})).json()["feedback"] == []


async def test_two_sides_are_compared(http: httpx.AsyncClient) -> None:
    told = (await http.get("/api/v1/stats/comparison", params={"a": "default", "b": "default@3", **PERIOD})).json()

    assert (told["a"]["counted"], told["b"]["counted"], told["b"]["revision"]) == (2, 2, 3)
    assert told["pairs"] == 0  # the same exchanges are no pairs


@pytest.mark.parametrize(
    ("path", "wrong", "named"),
    [
        ("stats/series", {"from": "2026-11-20T12:00:00", "to": "2026-11-20T12:00:00"}, "to:"),
        ("stats/series", {"to": "0001-01-01T00:00:00"}, "to:"),
        ("stats/series", {"from": "2020-01-01T00:00:00", "to": "2026-01-01T00:00:00"}, "step=day"),
        ("stats/series", {"step": "minute"}, "step"),
        ("stats/comparison", {"a": "default@x", "b": "default"}, "a:"),
        ("stats/comparison", {"a": "default"}, "b"),
        ("feedback", {"after": "nonsense"}, "after"),
        ("feedback", {"limit": "1000"}, "limit"),
    ],
)
async def test_what_cannot_be_told_is_refused_with_what_to_send(
    http: httpx.AsyncClient, path: str, wrong: dict[str, str], named: str
) -> None:
    reply = await http.get(f"/api/v1/{path}", params=wrong)

    assert reply.status_code == 422
    assert named in reply.json()["detail"]
