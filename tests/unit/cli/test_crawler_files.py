"""Files, folders and standard input as submissions."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest

from cli.crawler.files import Collector
from shared.text.file_types import JSON_LINES
from shared.web.crawler.collected import CollectedDocument


def _collect(collector: Collector, *paths: Path | str) -> list[CollectedDocument]:
    return list(collector.collect(map(str, paths)))


def _sources(found: list[CollectedDocument]) -> list[str]:
    return [each.document.source for each in found]


def test_folder_gives_its_documents_in_order_with_ids_below_it(tmp_path: Path) -> None:
    # Given a folder with folders
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "page.HTML").write_bytes(b"<p>x")
    (tmp_path / "a.md").write_bytes(b"# A")
    (tmp_path / "c.txt").write_bytes(b"c")
    (tmp_path / "d.pdf").write_bytes(b"%PDF")
    (tmp_path / "NOTES").write_bytes(b"no suffix")
    # When it is collected
    found = _collect(Collector(collection="help", language="fra"), tmp_path)
    # Then each document has its id, media type, digest and what was said of all
    assert [(each.document.source, each.document.media_type) for each in found] == [
        ("kb:help/NOTES", "text/plain"),
        ("kb:help/a.md", "text/markdown"),
        ("kb:help/b/page.HTML", "text/html"),
        ("kb:help/c.txt", "text/plain"),
        ("kb:help/d.pdf", "application/pdf"),
    ]
    first = found[1]
    assert first.body == b"# A"
    assert first.document.digest == hashlib.sha256(b"# A").hexdigest()
    assert (first.document.collection, first.document.language) == ("help", "fra")
    assert first.document.text is None


def test_folder_leaves_out_hidden_and_unreadable_kinds_and_counts_them(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.md").write_bytes(b"x")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "binary").write_bytes(b"\0\1")
    (tmp_path / "a.md").write_bytes(b"x")
    collector = Collector()
    assert _sources(_collect(collector, tmp_path)) == ["kb:a.md"]
    assert collector.skipped == {"hidden": 1, "no reader for .png": 1, "binary": 1}
    assert collector.problems == []


def test_folder_with_links_to_itself_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_bytes(b"x")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "sub" / "dangling.md").symlink_to(tmp_path / "nothing")
    collector = Collector()
    assert _sources(_collect(collector, tmp_path)) == ["kb:sub/a.md"]
    assert collector.skipped["folder already visited"] == 1
    assert [problem.reason for problem in collector.problems] == ["no such file"]


def test_problems_are_kept_and_never_stop_the_rest(tmp_path: Path) -> None:
    # Given something wrong of every kind, and one good file
    (tmp_path / "empty.md").write_bytes(b" \n")
    (tmp_path / "large.md").write_bytes(b"x" * 101)
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "good.md").write_bytes(b"good")
    collector = Collector(max_bytes=100)
    # When all is collected, with a file that is not there
    found = _collect(collector, tmp_path / "missing.md", tmp_path)
    # Then the good one comes, and the others each have a reason
    assert _sources(found) == ["kb:good.md"]
    told = {Path(problem.path).name: problem.reason for problem in collector.problems}
    assert told == {
        "missing.md": "no such file",
        "empty.md": "empty",
        "large.md": "larger than 100 bytes",
        "pipe.md": "not a regular file",
    }


def test_error_while_reading_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_bytes(b"x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    collector = Collector()
    assert _collect(collector, tmp_path) == []
    assert collector.problems[0].reason == "permission denied"


def test_two_documents_of_the_same_name_are_not_mixed_up(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(folder)
    collector = Collector()
    assert _sources(_collect(collector, tmp_path / "one", tmp_path / "two")) == ["kb:a.md"]
    (problem,) = collector.problems
    assert problem.path == str(tmp_path / "two" / "a.md")
    assert problem.reason == f"{tmp_path / 'one' / 'a.md'} has the same id kb:a.md; ingest one of them with --prefix"


def test_equal_copies_under_one_id_are_one_document_and_counted(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text("the same")
    collector = Collector()
    assert _sources(_collect(collector, tmp_path / "one", tmp_path / "two")) == ["kb:a.md"]
    assert (collector.problems, collector.skipped["same id and content as another one"]) == ([], 1)


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({"collection": "en"}, "kb:en/en/a.md"),
        ({"prefix": "guide"}, "kb:guide/en/a.md"),
        ({"collection": "en", "prefix": "/guide/"}, "kb:guide/en/a.md"),
    ],
)
def test_ids_begin_with_the_collection_or_the_prefix(tmp_path: Path, options: dict[str, str], source: str) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "a.md").write_text("text")
    assert _sources(_collect(Collector(**options), tmp_path)) == [source]  # type: ignore[arg-type]


def test_origin_is_the_folder_that_the_id_is_relative_to(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(folder)

    def origin(path: Path) -> str:
        (found,) = _collect(Collector(), path)
        return found.document.origin

    assert origin(tmp_path / "one") == origin(tmp_path / "one" / "a.md") != origin(tmp_path / "two")


def test_file_asked_for_by_name_is_read_whatever_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"text")
    (tmp_path / "b.bin").write_bytes(b"\0")
    collector = Collector()
    assert _sources(_collect(collector, tmp_path / "a.log", tmp_path / "b.bin")) == ["kb:a.log"]
    assert collector.problems[0].reason == "a binary file of unknown type"


def test_json_lines_give_a_document_for_each_record(tmp_path: Path) -> None:
    # Given records with the usual names, bad lines between them
    lines = [
        '{"_id": 7, "question": "How?", "answer": "So.", "url": "https://example.org", "lang": "en"}',
        "",
        "not json",
        "[1]",
        '{"question": "No answer"}',
        '{"title": "T", "text": "half \\ud800", "url": "https://example.org/t"}',
        '{"text": "bare"}',
    ]
    (tmp_path / "faq.jsonl").write_text("\n".join(lines))
    collector = Collector()
    # When they are collected
    found = _collect(collector, tmp_path)
    # Then each good one is a document of its own
    assert _sources(found) == ["kb:7", "kb:https://example.org/t", "kb:faq.jsonl#7"]
    first = found[0].document
    assert (first.title, first.url, first.language, found[0].body) == ("How?", "https://example.org", "en", b"So.")
    assert found[1].body == b"half ?"
    assert [(problem.path, problem.reason) for problem in collector.problems] == [
        ("faq.jsonl:3", "not JSON"),
        ("faq.jsonl:4", "not a JSON object"),
        ("faq.jsonl:5", "no text under text or answer or body or content"),
    ]


def test_json_lines_fields_can_be_named_also_inside_one_another(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text('{"meta": {"key": "k1"}, "q": "Q", "doc": {"body": "text"}}')
    collector = Collector(fields={"id": "meta.key", "title": "q", "text": "doc.body"})
    (found,) = _collect(collector, tmp_path / "x.ndjson")
    assert (found.document.source, found.document.title, found.body) == ("kb:k1", "Q", b"text")


def test_json_lines_stop_at_a_line_without_end(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "a"}\n' + b"y" * 200 + b'\n{"text": "b"}')
    collector = Collector(max_bytes=100)
    assert len(_collect(collector, tmp_path)) == 1
    assert "longer than 100 bytes" in collector.problems[0].reason


def test_unknown_field_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown field titel; fields: id, title"):
        Collector(fields={"titel": "x"})


def test_standard_input_is_a_document_or_records() -> None:
    (found,) = _collect(Collector(stdin=io.BytesIO(b"# Hi"), stdin_type="text/markdown"), "-")
    assert found.document.source.startswith("kb:stdin-")
    assert (found.document.media_type, found.body) == ("text/markdown", b"# Hi")
    (record,) = _collect(Collector(stdin=io.BytesIO(b'{"id": "a", "text": "x"}'), stdin_type=JSON_LINES), "-")
    assert record.document.source == "kb:a"
    closed = Collector()
    assert _collect(closed, "-") == []
    assert closed.problems[0].reason == "no standard input"


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    # Given a folder with links to a file and a folder beside it, and one to a file of its own
    root, beside = tmp_path / "root", tmp_path / "beside"
    for folder in (root / "sub", beside):
        folder.mkdir(parents=True)
        (folder / "page.txt").write_text(folder.name)
    (root / "file.txt").symlink_to(beside / "page.txt")
    (root / "sub" / "up").symlink_to(beside)
    (root / "again.txt").symlink_to(root / "sub" / "page.txt")
    (root / "gone.txt").symlink_to(tmp_path / "nothing")
    collector = Collector()
    # When it is collected, then only what is in it is; a link that is named itself is followed
    assert _sources(_collect(collector, root)) == ["kb:again.txt", "kb:sub/page.txt"]
    assert collector.skipped["link to a place outside of the folder"] == 3
    (tmp_path / "link").symlink_to(root)
    assert _sources(_collect(Collector(), tmp_path / "link")) == ["kb:again.txt", "kb:sub/page.txt"]
    assert _sources(_collect(Collector(), root / "file.txt")) == ["kb:file.txt"]


def test_groups_of_the_command_hold_for_all_documents_and_those_of_a_record_without_them(tmp_path: Path) -> None:
    lines = [
        '{"id": "1", "text": "a", "access_groups": ["staff", "board"]}',
        '{"id": "2", "text": "b", "access_groups": "staff, crew"}',
        '{"id": "3", "text": "c"}',
        '{"id": "4", "text": "d", "access_groups": []}',
        '{"id": "5", "text": "e", "access_groups": {"staff": true}}',
        '{"id": "6", "text": "f", "for": {"whom": "crew"}}',
        '{"id": "7", "text": "g", "meta": {"Access-Groups": "crew"}}',
        '{"id": "8", "text": "h", "visibility": "private"}',
        '{"id": "9", "text": "i", "accessGroups": "*"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    collector = Collector()
    found = _collect(collector, tmp_path / "a.jsonl")
    assert {one.document.source: one.document.groups for one in found} == {
        "kb:1": ("board", "staff"),
        "kb:2": ("crew", "staff"),
        "kb:3": (),
        "kb:6": (),
        "kb:7": ("crew",),
        "kb:9": ("*",),
    }
    assert [problem.path.rpartition(":")[2] for problem in collector.problems] == ["4", "5", "8"]
    by_command = _collect(Collector(groups=("guests",)), tmp_path / "a.jsonl")
    assert {one.document.groups for one in by_command} == {("guests",)}
    renamed = _collect(Collector(fields={"groups": "for.whom"}), tmp_path / "a.jsonl")
    assert {one.document.source: one.document.groups for one in renamed}["kb:6"] == ("crew",)


def test_long_text_that_names_its_groups_itself_is_a_problem_because_its_parts_would_not(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("---\naccess_groups: staff\n---\n" + "word " * 1000)
    collector = Collector(part_bytes=1000)
    assert _collect(collector, tmp_path) == []
    assert "--group" in collector.problems[0].reason
    parts = _collect(Collector(part_bytes=1000, groups=("staff",)), tmp_path)
    assert len(parts) > 1
    assert {one.document.groups for one in parts} == {("staff",)}
