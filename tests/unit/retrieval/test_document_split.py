"""How a text is cut into passages, and what a passage is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.indexing.prepare import prepare, version
from services.retrieval.indexing.split import LONGEST, split
from shared.contracts.domain import Document, Passage
from shared.documents.delimited import read_csv
from shared.documents.markdown import read_markdown
from shared.documents.plain_text import read_plain
from shared.documents.registry import read


def _cut(markdown: str, size: int, overlap: int = 0) -> list[str]:
    document = read_markdown(markdown.encode())
    return [chunk.cut_from(document.text) for chunk in split(document, size, overlap)]


def _passages(body: str, size: int = 512, **metadata: str) -> list[Passage]:
    document = Document(source="kb:guides/opening-hours.md", media_type="text/markdown", **metadata)
    return prepare(document, body.encode(), "digest", "v", size=size, overlap=50)[1]


def test_split_never_joins_sections() -> None:
    assert _cut("# A\none\n\ntwo\n# B\nthree", 500) == ["one\n\ntwo", "three"]


def test_split_ends_at_paragraphs_first_and_sentences_next() -> None:
    # Given a paragraph that fits beside nothing, and one that does not fit at all
    assert _cut("First one here.\n\nSecond one here. " + "Third one is here.", 40) == [
        "First one here.",
        "Second one here. Third one is here.",
    ]
    assert _cut("First one here. Second one here. Third one.", 20) == [
        "First one here.",
        "Second one here.",
        "Third one.",
    ]


def test_split_divides_a_sentence_only_when_it_is_too_long() -> None:
    assert _cut("alpha beta gamma delta", 12) == ["alpha beta", "gamma delta"]
    assert _cut("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_split_begins_with_the_last_sentence_of_the_chunk_before_when_it_fits_the_overlap() -> None:
    assert _cut("One is long enough. Two. Three is long enough.", 28, overlap=10) == [
        "One is long enough. Two.",
        "Two. Three is long enough.",
    ]


def test_split_keeps_code_whole_up_to_four_passages_and_gives_every_part_of_longer_code_its_fence() -> None:
    assert _cut("```\n" + "x = 1\n" * 10 + "```", 20) == ["```\n" + "x = 1\n" * 10 + "```"]
    long = _cut("```py\n" + "x = 1\n" * 20 + "```", 20)
    assert len(long) > 4
    assert all(part.startswith("```py\n") and part.endswith("\n```") for part in long)
    assert "".join(part[6:-3] for part in long).split() == ["x", "=", "1"] * 20


def test_split_gives_every_part_of_a_table_the_names_of_its_columns_and_divides_no_row() -> None:
    rows = [f"| setting {number} | what it does |" for number in range(12)]
    parts = _cut("\n".join(["| name | meaning |", "|---|---|", *rows]), 160)
    assert len(parts) > 2
    assert all(part.startswith("| name | meaning |\n| --- | --- |\n| setting") for part in parts)
    assert [line for part in parts for line in part.split("\n")[2:]] == rows


def test_split_keeps_a_table_and_the_line_that_introduces_it_together() -> None:
    # Given text that fills a passage, and a table that does not fit behind it
    text = "Many words stand here, before it.\n\nThese are the fees:\n\n| age | fee |\n|---|---|\n| 3 | 0 |"
    # When it is cut
    first, second = _cut(text, 75)
    # Then the introduction goes with the table
    assert first == "Many words stand here, before it."
    assert second == "These are the fees:\n\n| age | fee |\n| --- | --- |\n| 3 | 0 |"


def test_split_repeats_no_part_of_an_item_of_a_list() -> None:
    # Given items of two sentences each
    items = [f"- Item {number} is one. It has more." for number in range(4)]
    # When the list is cut with an overlap that would hold a sentence
    parts = _cut("\n".join(items), 70, overlap=25)
    # Then every passage begins with an item
    assert len(parts) > 1
    assert all(part.startswith("- Item") for part in parts)


def test_split_takes_the_headings_when_there_is_nothing_else() -> None:
    assert _cut("# Only\n## Headings", 100) == ["Only", "Headings"]


@given(
    text=st.text(alphabet=st.sampled_from("ab C1.\n?é-"), min_size=1, max_size=600),
    size=st.integers(20, 120),
    overlap=st.integers(0, 10),
)
def test_split_keeps_every_word_in_order_within_the_size(text: str, size: int, overlap: int) -> None:
    # Given any plain text
    document = read_plain(text.encode())
    # When it is cut
    chunks = split(document, size, overlap)
    # Then every character that is not white space is in a chunk, and no chunk is too long
    covered = {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    assert all(at in covered for at, character in enumerate(document.text) if not character.isspace())
    assert all(0 < chunk.end - chunk.start <= size for chunk in chunks)
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})


def test_prepare_gives_passages_with_exact_offsets_and_section_titles() -> None:
    # Given a document with sections
    body = "# Guide\nIntro here.\n## Fees\nAdults pay.\n### Children\nThey do not."
    # When it is prepared
    passages = _passages(body, url="https://example.org/guide")
    text = read_markdown(body.encode()).text
    # Then every passage stands in the text where it says, and is named after its sections
    assert all(text[passage.start : passage.end] == passage.text for passage in passages)
    assert [(passage.title, passage.text) for passage in passages] == [
        ("Guide", "Intro here."),
        ("Guide — Fees", "Adults pay."),
        ("Guide — Fees — Children", "They do not."),
    ]
    assert len({passage.id for passage in passages}) == 3


def test_prepare_gives_every_part_of_a_long_answer_its_question_as_title() -> None:
    body = " ".join(f"Sentence number {number} of the answer." for number in range(60))
    passages = _passages(body, title="How long does it take?")
    assert len(passages) > 3
    assert {passage.title for passage in passages} == {"How long does it take?"}


def test_prepare_names_a_document_without_a_title_after_its_source() -> None:
    assert _passages("Nine to five.")[0].title == "opening hours"


def test_prepare_takes_the_language_given_then_declared_then_guessed() -> None:
    french = "Le bureau est ouvert dans la matinée et les jours de la semaine."
    assert _passages(french, language="en-GB")[0].language == "eng"
    assert _passages(f"---\nlang: pt\n---\n{french}")[0].language == "por"
    assert _passages(french)[0].language == "fra"
    assert _passages("42")[0].language == "und"


def test_version_changes_with_everything_that_shapes_the_passages() -> None:
    document = Document(source="kb:a", title="A")
    same = version(document, "digest", 512, 50)
    assert same == version(document, "digest", 512, 50)
    others = {
        version(document, "other", 512, 50),
        version(document, "digest", 400, 50),
        version(document.model_copy(update={"title": "B"}), "digest", 512, 50),
        version(document.model_copy(update={"collection": "x"}), "digest", 512, 50),
    }
    assert len(others | {same}) == 5


_WORD, _SENTENCE = "a" * 240_000, "Some words of a sentence. " * 10_000
_CELLS = " | ".join(["parking permit"] * 15_000)


@pytest.mark.parametrize("size", [100, 512, 2000])
@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("text/markdown", f"| a | b |\n|---|---|\n| {_SENTENCE} | x |\n| y | z |\n"),
        ("text/markdown", f"| {_WORD} | b |\n|---|---|\n| x | y |\n| y | z |\n" * 2),
        ("text/markdown", f"| {_CELLS} |\n|{'---|' * 15_000}\n| x | y |\n"),
        ("text/markdown", f"```{_WORD}\nx\n```\n"),
        ("text/markdown", f"```py\n{_WORD}\n{_SENTENCE}\n```\n"),
        ("text/markdown", f"- {_WORD}\n- {_SENTENCE}\n  - {_WORD}\n"),
        ("text/markdown", f"Like this:\n\n```\n{'x = 1' * 40_000}\n```\n"),
        ("text/markdown", f"# {_WORD}\n\nText.\n"),
        ("text/html", f"<table><tr><th>a<th>b<tr><td>{_SENTENCE}<td>x<tr><td>{_WORD}<td>y</table>"),
        ("text/html", f"<pre>{_WORD}</pre><dl><dt>{_WORD}<dd>{_SENTENCE}</dl>"),
        ("text/x-rst", f"+---+\n| a |\n+---+\n\n::\n\n   {_WORD}\n\n{_SENTENCE}\n"),
        ("text/x-rst", f".. list-table::\n\n   * - {_SENTENCE}\n     - b\n   * - {_WORD}\n     - c\n"),
        ("text/csv", f"name,text\nx,{_WORD[:120_000]}\ny,{_SENTENCE[:120_000]}\n"),
        ("text/x-python", f"x = '{_WORD}'\n\ndef f():\n    return '{_SENTENCE}'\n"),
        ("text/plain", f"{_WORD}\n\n{_SENTENCE}{_WORD}"),
    ],
)
def test_every_passage_has_a_size_whatever_the_block(media_type: str, text: str, size: int) -> None:
    document = read(text.encode(), media_type)

    parts = [chunk.cut_from(document.text) for chunk in split(document, size, size // 10)]

    assert max(map(len, parts)) <= LONGEST * size
    assert len(parts) < 20 * len(text) / size


def test_a_part_of_a_list_keeps_the_line_that_introduces_it() -> None:
    items = "\n".join(f"- document number {number} of the file" for number in range(20))
    document = read_markdown(f"# Visa\n\nYou need:\n\n{items}\n".encode())

    texts = [chunk.cut_from(document.text) for chunk in split(document, 200, 0)]

    assert len(texts) > 2
    assert all(text.startswith("You need:\n\n- ") for text in texts)


def test_a_passage_of_rows_names_its_cells() -> None:
    document = read_csv(b"Name,Fee\n" + b"\n".join(b"Member %d,%d" % (number, number) for number in range(30)))

    places = [chunk.place for chunk in split(document, 200, 0)]

    assert places[0].startswith("A2:B")
    assert places[-1].endswith(":B31")
