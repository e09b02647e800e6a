"""The record over HTTP: pages, one exchange, and files."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from services.gateway.operators.exchange_export import safe
from services.persistence import projection
from services.persistence.ports import Feedback
from services.persistence.sql.record import Record
from shared.contracts.domain import Answer
from shared.contracts.facts import QuestionWithdrawn
from tests.support.record_stage import record_stage
from tests.support.records import NOON, question_id, said, sqlite_record, verified
from tests.support.table import table
from tests.unit.gateway.harness import running_gateway

FORMULA = '=HYPERLINK("https://example.org","free")'


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[Record]:
    """Five answers and a withdrawal; the last answer looks like a formula and was rated."""
    async with sqlite_record(tmp_path) as kept:
        for number in range(5):
            text = FORMULA if number == 4 else f"Question {number}?"
            event = said(verified(text), question=question_id(number))
            await kept.save(projection.exchange(event.payload, event))
        gone = said(QuestionWithdrawn(), question=question_id(9), conversation="other")
        await kept.save(projection.exchange(gone.payload, gone))
        for number, rating in enumerate((1, -1, -1)):
            await kept.save(
                Feedback(
                    event_id=str(number),
                    exchange_id=question_id(4),
                    rating=rating,
                    reason="",
                    comment="-1+2",
                    by="b",
                    at=NOON,
                )
            )
        yield kept


@pytest.fixture
async def http(record: Record) -> AsyncIterator[httpx.AsyncClient]:
    async with running_gateway() as here:
        here.bus.stages.append(record_stage(record, here.bus.context()))
        yield here.http


async def test_pages_hold_every_exchange_once_the_newest_first(http: httpx.AsyncClient) -> None:
    found: list[str] = []
    after = ""
    while True:
        page = (await http.get("/api/v1/exchanges", params={"limit": 4, "after": after})).json()
        found += [one["id"] for one in page["exchanges"]]
        after = page["after"]
        if not after:
            break

    assert found == [question_id(number) for number in (9, 4, 3, 2, 1, 0)]


async def test_what_is_recorded_meanwhile_moves_no_page(http: httpx.AsyncClient, record: Record) -> None:
    first = (await http.get("/api/v1/exchanges", params={"limit": 3})).json()
    event = said(verified("new"), question=question_id(99))
    await record.save(projection.exchange(event.payload, event))

    second = (await http.get("/api/v1/exchanges", params={"limit": 3, "after": first["after"]})).json()

    assert [one["id"] for one in second["exchanges"]] == [question_id(number) for number in (2, 1, 0)]


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"outcome": "withdrawn"}, 1),
        ({"conversation": "other"}, 1),
        ({"rating": "down"}, 1),
        ({"source": "kb:renewal.md"}, 5),
        ({"pipeline": "nobody's"}, 0),
        ({"until": NOON.isoformat()}, 0),
        ({"since": "2026-11-20T12:00:00"}, 6),
    ],
)
async def test_filters_narrow_the_list(http: httpx.AsyncClient, wanted: dict[str, str], count: int) -> None:
    page = (await http.get("/api/v1/exchanges", params=wanted)).json()

    assert len(page["exchanges"]) == count


async def test_a_line_tells_how_often_it_was_rated(http: httpx.AsyncClient) -> None:
    (line,) = (await http.get("/api/v1/exchanges", params={"rating": "up"})).json()["exchanges"]

    assert (line["feedback_up"], line["feedback_down"], line["sources"]) == (1, 2, ["kb:renewal.md"])


@pytest.mark.parametrize("wrong", [{"after": "nonsense"}, {"after": "MjAyNg=="}, {"outcome": "lost"}, {"limit": "0"}])
async def test_a_wrong_page_or_filter_is_refused_with_what_to_do(
    http: httpx.AsyncClient, wrong: dict[str, str]
) -> None:
    reply = await http.get("/api/v1/exchanges", params=wrong)

    assert reply.status_code == 422
    assert next(iter(wrong)) in reply.json()["detail"]


async def test_an_exchange_is_shown_with_all_there_is(http: httpx.AsyncClient) -> None:
    told = (await http.get(f"/api/v1/exchanges/{question_id(4)}")).json()

    assert told["exchange"]["passages"][0]["source"] == "kb:renewal.md"
    assert [one["rating"] for one in told["feedback"]] == [1, -1, -1]
    assert (await http.get(f"/api/v1/exchanges/{'0' * 32}")).status_code == 404


async def test_json_lines_hold_every_exchange_that_fits(http: httpx.AsyncClient) -> None:
    reply = await http.get("/api/v1/exchanges/export", params={"outcome": "answered"})

    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert [one["exchange"]["id"] for one in lines] == [question_id(number) for number in (4, 3, 2, 1, 0)]
    assert len(lines[0]["feedback"]) == 3


async def test_no_cell_of_a_csv_file_is_a_formula(http: httpx.AsyncClient) -> None:
    reply = await http.get("/api/v1/exchanges/export", params={"format": "csv"})

    lines = list(csv.DictReader(io.StringIO(reply.content.decode("utf-8-sig"))))
    assert len(lines) == 6
    worst = next(line for line in lines if line["id"] == question_id(4))
    assert worst["question"].startswith("'=HYPERLINK")
    assert worst["comments"].startswith("'-1+2")
    assert (worst["feedback_up"], worst["feedback_down"]) == ("1", "2")


@table("cell", ["=1", "+1", "-1", "@x", "\tx", "\rx", "\n=1", "＝1", "﹢1", "－1", "＠x", " ＝1"])
def test_what_a_spreadsheet_takes_for_a_formula_is_marked_as_text(cell: str) -> None:
    assert safe(cell) == f"'{cell}"


def test_numbers_and_plain_texts_stay() -> None:
    assert (safe(-1.5), safe("one = 1"), safe("")) == (-1.5, "one = 1", "")


async def test_an_export_goes_from_page_to_page(http: httpx.AsyncClient, record: Record) -> None:
    events = [said(verified(f"{number}"), question=question_id(number)) for number in range(100, 230)]
    await asyncio.gather(*(record.save(projection.exchange(event.payload, event)) for event in events))

    lines = (await http.get("/api/v1/exchanges/export")).text.splitlines()

    assert len({json.loads(line)["exchange"]["id"] for line in lines}) == len(lines) == 136


async def test_a_page_of_large_exchanges_stays_under_what_the_bus_takes(
    http: httpx.AsyncClient, record: Record
) -> None:
    for number in range(100, 110):
        event = said(verified("large?", "x" * 2**20), question=question_id(number))
        exchange = projection.exchange(event.payload, event)
        await record.save(exchange.model_copy(update={"answer": Answer(content="x" * 2**20)}))

    lines = (await http.get("/api/v1/exchanges/export")).text.splitlines()

    assert len(lines) == 16


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_time_that_is_none_in_utc_is_refused(http: httpx.AsyncClient, moment: str) -> None:
    for path in ("/api/v1/exchanges", "/api/v1/exchanges/export"):
        reply = await http.get(f"{path}?since={moment}")

        assert (reply.status_code, reply.json()["errors"][0]["at"]) == (422, "since")
