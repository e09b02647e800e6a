"""A completion is read the same however it is cut, and only the answer's own text is ever shown."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.answer.citations import Markers, cut, segments
from services.answer.output_parsers.completion import CompletionParser
from services.answer.output_parsers.parser import RESTART, OutputParser, ParsedOutput, parse_confidence
from services.answer.output_parsers.tags import TagParser
from tests.support.table import table

WHOLE = (
    "<answer><s-1>It is free. [1]</s-1>\n<s-2>You need a form. [2]</s-2></answer>\n"
    "<citation-head>Cards</citation-head><citation-url>https://example.org/cards</citation-url>"
    "<confidence>8</confidence>"
)
PARTS = st.sampled_from([
    "<answer>", "</answer>", "<s-1>", "</s-1>", "<s-2>", "</s-2>", "<s-1", ">", "<", "</", "<citation-url>", "http://x",
    "</citation-url>", "<confidence>", "7", "</confidence>",
    "<think>", "</think>", "<not-gc>", "</not-gc>", "<pt-muni/>",
    "<clarifying-question>", "Which?", "\n- one", "</clarifying-question>", "<not-found>", "</not-found>",
    "It is free.",
    " ", "\n\n", "a < b", "<b>", "<Answer >", "[1]", "é水", "<answerx>", '<s-1 id="2">',
])  # fmt: skip
TEXTS = st.lists(PARTS, max_size=14).map("".join)
JSON_PARTS = st.sampled_from([
    "{", "}", '"answer"', ":", '"', ",", "\\", "\\n", "\\u00e9", "\\ud83d", "\\ude42", "text", "[", "]", " ",
    "\\u-001", "\\u 1_",
    "```json\n",
    '"confidence": 7', '"x": {"answer": "no"}', "`", "<answer>", '\\"', "true", '"answer": "It is free. [1]"',
])  # fmt: skip
JSON_PARSER = partial(CompletionParser, json=True)
JSON_TEXTS = st.lists(JSON_PARTS, max_size=14).map("".join)


def read(reader: OutputParser, pieces: Sequence[str]) -> tuple[str, ParsedOutput]:
    """What is shown at the end, and what was read."""
    shown = ""
    for piece in pieces:
        for one in reader.feed(piece):
            shown = "" if one is RESTART else shown + str(one)
    rest, written = reader.finish()
    for one in rest:
        shown = "" if one is RESTART else shown + str(one)
    return shown, written


def cuts(text: str, places: list[int]) -> list[str]:
    at = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in itertools.pairwise(at)]


@pytest.mark.parametrize("reader", [TagParser, CompletionParser, JSON_PARSER])
@given(text=st.one_of(TEXTS, JSON_TEXTS, st.text(max_size=40)), places=st.lists(st.integers(0, 400), max_size=12))
def test_any_cutting_gives_the_same_text_and_the_same_reading(
    reader: Callable[[], OutputParser], text: str, places: list[int]
) -> None:
    assert read(reader(), cuts(text, places)) == read(reader(), [text])
    assert read(reader(), list(text)) == read(reader(), [text])


@example("<s-1</confidence>>")
@example("<s-</not-found>1>")
@given(TEXTS)
def test_what_is_shown_is_what_was_written_and_holds_no_tag_of_the_form(text: str) -> None:
    shown, written = read(TagParser(), list(text))

    assert shown == written.text or (written.clarification and not written.text)
    assert not any(
        tag in shown.lower() for tag in ("<answer>", "</answer>", "<s-1>", "<confidence>", "</s-2>", "<think>")
    )


def test_a_whole_completion_is_the_sentences_and_what_stands_beside_them() -> None:
    shown, written = read(TagParser(), list(WHOLE))

    assert shown == "It is free. [1] You need a form. [2]"
    assert written == ParsedOutput(
        text=shown,
        citation_head="Cards",
        citation_url="https://example.org/cards",
        confidence=8.0,
        tagged=True,
    )


@table(
    ("completion", "text"),
    [
        ("It is free.", "It is free."),
        ("  Sure:\n<answer>It is free.</answer>", "It is free."),
        ("<s-1>It is free.</s-1> <s-2>Come in.</s-2>", "It is free. Come in."),
        ("<answer><answer>It is</answer> free.</answer> Bye", "It is free."),
        ("<answer>It is free.", "It is free."),
        ("<answer>It is <s-1>free.", "It is free."),
        ("<think>Maybe <answer>no</answer></think><answer>It is free.</answer>", "It is free."),
        ("<confidence>9<answer>It is free.</answer>", "It is free."),
        ("<ANSWER><S-1>It is free.</S-1></ANSWER>", "It is free."),
        ("<answer>a < b and <b>bold</b></answer>", "a < b and <b>bold</b>"),
        ("<answer><not-gc><s-1>Not ours.</s-1></not-gc></answer>", "Not ours."),
        ("<not-gc>Not ours.</not-gc>", "Not ours."),
        ("<answer>One.\n\n- two\n- three</answer>", "One.\n\n- two\n- three"),
        ("", ""),
        ("<answer></answer>", ""),
        ("<think>never ends", ""),
    ],
)
def test_tags_may_be_missing_nested_or_unclosed(completion: str, text: str) -> None:
    assert read(TagParser(), list(completion))[0] == text


def test_a_question_back_is_never_shown_and_brings_its_options() -> None:
    text = "<clarifying-question>Which card?\n- library\n- swimming pool</clarifying-question>"

    shown, written = read(TagParser(), list(text))

    assert shown == ""
    assert (written.clarification, written.options) == ("Which card?", ("library", "swimming pool"))


def test_an_answer_that_was_shown_outweighs_a_question_back() -> None:
    _, written = read(TagParser(), ["<answer>It is free.</answer><clarifying-question>Which?</clarifying-question>"])

    assert (written.text, written.clarification) == ("It is free.", "")


def test_a_completion_of_a_megabyte_is_read_in_a_moment() -> None:
    text = "<answer>" + "It is free. " * 90_000

    shown, _ = read(TagParser(), [text[at : at + 4] for at in range(0, len(text), 4)])

    assert len(shown) > 1_000_000


def test_a_json_object_shows_its_answer_only() -> None:
    written = {
        "x": {"answer": "no"},
        "answer": 'It is "free" 🙂.\nCome. [1]',
        "confidence": 8,
        "citation_url": "https://x",
    }

    shown, found = read(CompletionParser(json=True), list(f"```json\n{json.dumps(written)}\n```"))

    assert shown == written["answer"]
    assert (found.confidence, found.citation_url) == (8.0, "https://x")


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ('{"answer": "It is fr', "It is fr"),
        ('{"answer": "It is free."', "It is free."),
        ("<answer>It is free.</answer>", "It is free."),
        ('{"answer": 7}', ""),
        ("{}", ""),
        ("[]", "[]"),
        ("", ""),
        ('{"answer": "\\ud83d!"}', "\ufffd!"),
    ],
)
def test_broken_json_gives_what_of_the_answer_there_is(completion: str, text: str) -> None:
    assert read(CompletionParser(json=True), list(completion))[0] == text


@pytest.mark.parametrize("digits", ["-001", "+0a1", " 1  ", "1_00", "zzzz", "\uff11\uff11\uff11\uff11"])
def test_what_is_no_escape_is_a_replacement_character(digits: str) -> None:
    assert read(CompletionParser(json=True), [f'{{"answer": "a\\u{digits}b"}}'])[0] == "a\ufffdb"


def test_json_asks_back_and_says_that_nothing_was_found() -> None:
    asking = '{"answer": "", "clarifying_question": "Which?", "options": ["a", "b"]}'
    _, asked = read(CompletionParser(json=True), [asking])
    _, nothing = read(CompletionParser(json=True), ['{"answer": "", "not_found": true}'])

    assert (asked.clarification, asked.options) == ("Which?", ("a", "b"))
    assert nothing.not_found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8.0),
        ("8/10", 8.0),
        ("85 %", 8.5),
        ("about 7,5", 7.5),
        ("-3", 0.0),
        ("99", 10.0),
        ("sure", None),
        ("", None),
    ],
)
def test_a_rating_is_read_leniently(text: str, value: float | None) -> None:
    assert parse_confidence(text) == value


MARKED = st.lists(
    st.sampled_from(
        ["[1]", "[2]", " [3]", "[1, 2]", "[ 2;3 ]", "[9]", "[", "]", "1", " ", "free.", "\n", "[x]", "[12", ","]
    ),
    max_size=14,
).map("".join)


@given(MARKED, st.lists(st.integers(0, 100), max_size=8))
def test_markers_are_renumbered_the_same_however_the_text_is_cut(text: str, places: list[int]) -> None:
    whole, cut_up = Markers(3), Markers(3)

    once = whole.feed(text) + whole.finish()

    assert "".join(map(cut_up.feed, cuts(text, places))) + cut_up.finish() == once
    assert cut_up.numbers == whole.numbers


def test_citations_are_numbered_as_they_come_and_unknown_ones_dropped() -> None:
    markers = Markers(5)

    shown = markers.feed("It is free.[4] You need a form [2, 4]. Nobody knows [9].") + markers.finish()

    assert shown == "It is free. [1] You need a form [2] [1]. Nobody knows."
    assert markers.numbers == {4: 1, 2: 2}


def test_a_marker_belongs_to_the_sentence_before_it() -> None:
    found = segments("It is free. [1] You need a form [2]. And time. [1] [2]")

    assert [(one.text, one.numbers) for one in found] == [
        ("It is free.", (1,)),
        ("You need a form.", (2,)),
        ("And time.", (1, 2)),
    ]


@given(
    st.lists(st.sampled_from(["It is free.", " [1]", "\n- ", "Come in! ", "x", "水。", " ", "…", "[2]"]), max_size=12)
)
def test_sentences_leave_nothing_of_the_content_out(parts: list[str]) -> None:
    content = "".join(parts).strip()
    found = segments(content)

    assert "".join(content[one.start : one.end] for one in found) in (content, "")
    assert bool(found) or not any(part.strip(" -[]12\n…") for part in parts)


@given(st.text(alphabet="ab .!?\n[1]", max_size=200), st.integers(2, 100))
def test_a_text_is_cut_behind_a_sentence_or_at_least_a_word(text: str, most: int) -> None:
    assert len(cut(text, most)) <= most


def test_sentences_that_fit_are_kept_whole() -> None:
    assert cut("It is free. [1] You need a form. [2]", 30) == "It is free. [1]"
    assert cut("A very long sentence without an end", 14) == "A very long…"
