"""Ratios, tables and the marked places of the benchmark page."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.bench.http_load import bodies, read_questions, read_reply
from tests.bench.report import Section, as_json, markdown, replace_section


@pytest.fixture
def section() -> Section:
    section = Section(name="chains", title="Hops", measures=("ms",), baselines=("raw", "plain"))
    for raw, plain, ours in ((2.0, 4.0, 6.0), (3.0, 6.0, 9.0), (100.0, 5.0, 7.5)):
        section.add("raw", {"ms": raw})
        section.add("plain", {"ms": plain})
        section.add("ours", {"ms": ours})
    return section


def test_section_sets_medians_against_the_baselines(section: Section) -> None:
    assert section.ratios("ours", "ms") == {"raw": 2.5, "plain": 1.5}
    assert section.cell("ours", "ms") == "7.50 (2.50× raw, 1.50× plain)"


def test_section_sets_no_baseline_against_itself(section: Section) -> None:
    assert section.ratios("raw", "ms") == {"plain": 0.6}


def test_section_leaves_out_a_ratio_when_its_baseline_was_not_run() -> None:
    section = Section(name="x", title="X", measures=("ms",), baselines=("raw",))
    section.add("ours", {"ms": 1.0})

    assert section.cell("ours", "ms") == "1.00"


def test_json_keeps_every_run(section: Section) -> None:
    written = as_json([section], {"cores": "2"})

    assert json.loads(json.dumps(written))["sections"]["chains"]["variants"]["raw"]["ms"]["runs"] == [2.0, 3.0, 100.0]


def test_markdown_says_how_many_rounds_and_where(section: Section) -> None:
    text = markdown(section, {"cores": "2"})

    assert "| ours | 7.50 (2.50× raw, 1.50× plain) |" in text
    assert "Median of 3 alternating rounds. cores 2." in text


def test_page_keeps_its_other_text_when_a_section_is_replaced() -> None:
    page = "# Speed\n\n<!-- bench:a -->\nold\n<!-- /bench:a -->\n\nprose\n"

    assert replace_section(page, "a", "new") == "# Speed\n\n<!-- bench:a -->\nnew\n<!-- /bench:a -->\n\nprose\n"


def test_page_gets_a_section_at_its_end_when_it_has_no_place_for_it() -> None:
    page = replace_section("# Speed\n", "a", "new")

    assert page == "# Speed\n\n<!-- bench:a -->\nnew\n<!-- /bench:a -->\n"
    assert replace_section(page, "a", "newer").count("bench:a") == 2


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}", id="length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n",
            b"{}",
            id="chunks",
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="nothing"),
    ],
)
async def test_load_reads_a_body(wire: bytes, body: bytes) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(wire)

    reply = await read_reply(reader)

    assert reply.body == body
    assert reader.at_eof() is False


async def test_load_fails_when_a_response_stops_half_way() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}")
    reader.feed_eof()

    with pytest.raises(asyncio.IncompleteReadError):
        await read_reply(reader)


def test_load_reads_questions_under_either_name(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "One?"}\n\n{"text": "Two?"}\n{"other": 1}\n')

    assert read_questions(file) == ["One?", "Two?"]


def test_no_two_loads_ask_the_same_question_when_none_may_be_reused() -> None:
    loads = [*bodies(["One?", "Two?"], 3, distinct=True), *bodies(["One?", "Two?"], 3, distinct=True)]

    asked = [json.loads(body)["question"] for body in loads]

    assert [question.split(" (")[0] for question in asked] == ["One?", "Two?", "One?"] * 2
    assert len(set(asked)) == 6
