"""Files of questions: what is read, and which line a complaint names."""

from __future__ import annotations

from pathlib import Path

import pytest
from answerbus_lab.evaluation.questions_file import QuestionItem, chains, read_items

from shared.contracts.errors import RefusedError


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    csv = written(
        tmp_path,
        "q.csv",
        "\ufeffQuestion,expected_answer,expected_sources,language,conversation,note\r\n"
        '"When, exactly?",At noon.,a.md|kb:b.md,en,c,x\r\n\r\nWhere?,,,,,\r\n',
    )
    jsonl = written(
        tmp_path,
        "q.jsonl",
        '{"question": "When, exactly?", "expected_answer": "At noon.", "expected_sources": ["a.md", "kb:b.md"], '
        '"language": "en", "conversation": "c", "note": 1}\n\n{"question": "Where?"}\n',
    )

    items = read_items(jsonl)

    assert items[0] == QuestionItem(1, "When, exactly?", "At noon.", ("a.md", "kb:b.md"), "en", "c")
    assert items[1] == QuestionItem(3, "Where?")
    assert [(one.question, one.expected_sources) for one in read_items(csv)] == [
        (one.question, one.expected_sources) for one in items
    ]
    assert [one.line for one in read_items(csv)] == [2, 4]


def test_a_line_is_counted_where_it_begins_also_after_cells_of_several_lines(tmp_path: Path) -> None:
    csv = written(tmp_path, "q.csv", 'question,expected_answer\n"a?","one\ntwo\nthree"\nb?,x\n')

    assert [one.line for one in read_items(csv)] == [2, 5]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("q.csv", "", "no question in it"),
        ("q.csv", "text,answer\na?,b\n", "line 1: the header has no column question"),
        ("q.csv", "question,language\na?,en\nb?,en,more\n", "line 3: 3 cells where the header has 2"),
        ("q.csv", 'question\na?\n"b?\n', "line 3: not CSV"),
        ("q.csv", "question,language\n ,en\n", "line 2: question is empty"),
        ("q.csv", b"question\na?\n\xff?\n", "line 3: not UTF-8"),
        ("q.jsonl", '{"question": "a?"}\n{"question"\n', "line 2: not JSON"),
        ("q.jsonl", '{"question": "a?"}\n["b?"]\n', "line 2: expected an object"),
        ("q.jsonl", '{"question": 7}\n', "line 1: question is not a text"),
        ("q.jsonl", '{"question": "a?", "expected_sources": [1]}\n', "line 1: expected_sources is not a list"),
        ("q.jsonl", '{"text": "a?"}\n', "line 1: question is empty"),
    ],
)
def test_a_bad_file_is_one_line_that_names_the_line(
    tmp_path: Path, name: str, text: str | bytes, complaint: str
) -> None:
    with pytest.raises(RefusedError, match=complaint) as found:
        read_items(written(tmp_path, name, text))

    assert "\n" not in str(found.value)


def test_a_line_ends_where_lines_of_files_end(tmp_path: Path) -> None:
    [item] = read_items(written(tmp_path, "q.jsonl", '{"question": "When\u2028exactly?"}\r\n'))

    assert item.question == "When\u2028exactly?"


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="No such file"):
        read_items(tmp_path / "none.csv")


def test_questions_of_a_conversation_are_a_chain() -> None:
    items = [
        QuestionItem(1, "a?", conversation="x"),
        QuestionItem(2, "b?"),
        QuestionItem(3, "c?", conversation="x"),
        QuestionItem(4, "d?"),
    ]

    assert [[one.line for one in chain] for chain in chains(items)] == [[1, 3], [2], [4]]
