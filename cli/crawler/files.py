"""Files, folders and standard input as documents to submit, on the client's side.

Every source gets its id here: `kb:<path below the folder named>`, or for a record of a JSON Lines file `kb:<its id>`
(its URL, or file and line, where it has none). What cannot be read is kept as a problem and never stops the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from cli.crawler.file_types import JSON_LINES, MEDIA_TYPES, PLAIN, TABLES, is_text
from cli.crawler.text_parts import parts
from shared.contracts.domain import Document, part_source

STDIN = "-"

#: Where a record's parts are looked for unless the caller says; the first path that leads to something counts.
USUAL_FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id"),
    "title": ("title", "question"),
    "text": ("text", "answer", "body", "content"),
    "url": ("url", "link"),
    "language": ("language", "lang"),
    "date": ("date", "updated", "modified", "published"),
}


@dataclass(frozen=True)
class Submission:
    """A document without its body, and the body; whoever sends it decides whether it fits an event."""

    document: Document
    body: bytes


@dataclass(frozen=True)
class Problem:
    """What could not be read (a path, for JSON Lines with the line), and why."""

    path: str
    reason: str


@dataclass
class Collector:
    """Walks what it is given; afterwards `problems` and `skipped` (reason -> count) tell what was left out.

    `fields` maps `id`, `title`, `text`, `url`, `language` and `date` to the keys of a JSON Lines record, with dots for
    nested ones. `stdin_type` is the media type of standard input. A text of more than `part_bytes` is handed in in
    parts, `<its id>#part=1` and so on, read one after the other; any other file may have `max_bytes`.
    """

    collection: str = ""
    language: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    max_bytes: int = 64 * 2**20
    part_bytes: int = 8 * 2**20
    stdin: BinaryIO | None = None
    stdin_type: str = PLAIN
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    _digests: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.fields) - set(USUAL_FIELDS))
        if unknown:
            raise ValueError(f"no field is called {unknown[0]}; fields are {', '.join(USUAL_FIELDS)}")

    def collect(self, paths: Iterable[str]) -> Iterator[Submission]:
        """The documents under the paths, folders in the order of their names."""
        for path in paths:
            if path == STDIN:
                yield from self._standard_input()
            elif os.path.isdir(path):  # noqa: PTH112 (never raises)
                yield from self._folder(Path(path))
            else:
                yield from self._file(Path(path), Path(path).name, asked_for=True)

    # --- folders and files ---

    def _folder(self, root: Path) -> Iterator[Submission]:
        for path in self._walk(root):
            yield from self._file(path, path.relative_to(root).as_posix(), asked_for=False)

    def _walk(self, root: Path) -> Iterator[Path]:
        """Files below the folder; a folder met a second time, through a link, is not entered again."""
        entered: set[tuple[int, int]] = set()
        waiting = [root]
        while waiting:
            path = waiting.pop()
            try:
                if not path.is_dir():
                    yield path
                    continue
                status = path.stat()
                if (status.st_dev, status.st_ino) in entered:
                    self.skipped["folder seen before"] += 1
                    continue
                entered.add((status.st_dev, status.st_ino))
                children = sorted(path.iterdir(), reverse=True)
            except OSError as error:
                self.problem(str(path), _why(error))
                continue
            shown = [child for child in children if not child.name.startswith(".")]
            self.skipped["hidden"] += len(children) - len(shown)
            waiting.extend(shown)

    def _file(self, path: Path, name: str, *, asked_for: bool) -> Iterator[Submission]:
        media_type = MEDIA_TYPES.get(path.suffix.lower(), "")
        if not media_type and path.suffix and not asked_for:
            self.skipped[f"no reader for {path.suffix.lower()}"] += 1
            return
        try:
            # Anything else (a pipe, a socket, a device) might never end.
            if not path.is_file():
                reason = "there is no such file" if not path.exists() else "not a regular file"
                self.problem(str(path), reason)
                return
            with path.open("rb") as file:
                date = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC).date().isoformat()
                if media_type == JSON_LINES:
                    yield from self._records(file, name)
                    return
                body = file.read(self.part_bytes + 1)
                if len(body) > self.part_bytes and is_text(media_type) and b"\0" not in body[:8192]:
                    yield from self._parts(
                        path, body, file, name, Document(source="", media_type=media_type, date=date)
                    )
                    return
                body += file.read(self.max_bytes + 1 - len(body)) if len(body) > self.part_bytes else b""
        except OSError as error:
            self.problem(str(path), _why(error))
            return
        if not media_type:
            if b"\0" in body[:8192]:
                self._binary(path, asked_for=asked_for)
                return
            media_type = PLAIN
        document = Document(source=f"kb:{_encodable(name)}", media_type=media_type, date=date)
        yield from self.submit(str(path), body, document)

    def _parts(
        self, path: Path, beginning: bytes, file: BinaryIO, name: str, document: Document
    ) -> Iterator[Submission]:
        """A long text in pieces, so that no more than one of them is in memory."""
        header = document.media_type in TABLES
        pieces = parts(beginning, file, self.part_bytes, header=header)
        number, last = 0, None
        for number, piece in enumerate(pieces, start=1):
            said = {
                "source": part_source(f"kb:{_encodable(name)}", number),
                "title": f"{Path(name).stem} (part {number})",
            }
            for one in self.submit(f"{path}, part {number}", piece, document.model_copy(update=said)):
                if last:
                    yield last
                last = one
        if last:  # it says how many there are, so that those of a longer text before are removed
            yield Submission(last.document.model_copy(update={"parts": number}), last.body)

    def _binary(self, path: Path, *, asked_for: bool) -> None:
        if asked_for:
            self.problem(str(path), "a binary file of unknown type")
        else:
            self.skipped["binary"] += 1

    def _standard_input(self) -> Iterator[Submission]:
        if self.stdin is None:
            self.problem(STDIN, "there is no standard input")
        elif self.stdin_type == JSON_LINES:
            yield from self._records(self.stdin, "stdin")
        else:
            body = self.stdin.read(self.max_bytes + 1)
            name = hashlib.sha256(body).hexdigest()[:12]
            yield from self.submit(STDIN, body, Document(source=f"kb:stdin-{name}", media_type=self.stdin_type))

    # --- JSON Lines ---

    def _records(self, file: BinaryIO, name: str) -> Iterator[Submission]:
        number = 0
        while line := file.readline(self.max_bytes + 1):
            number += 1
            place = f"{name}:{number}"
            if len(line) > self.max_bytes:
                self.problem(place, f"the line is longer than {self.max_bytes} bytes; the rest of the file is left out")
                return
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                self.problem(place, "not JSON")
                continue
            if not isinstance(record, dict):
                self.problem(place, "not a JSON object")
                continue
            yield from self._record(record, place, f"{name}#{number}")

    def _record(self, record: dict[str, Any], place: str, otherwise: str) -> Iterator[Submission]:
        said = {part: self._part(record, part) for part in USUAL_FIELDS}
        if not said["text"].strip():
            self.problem(place, f"no text under {' or '.join(self._paths('text'))}")
            return
        document = Document(
            source=f"kb:{said['id'] or said['url'] or otherwise}",
            media_type=PLAIN,
            title=said["title"],
            url=said["url"],
            language=said["language"],
            date=said["date"],
        )
        yield from self.submit(place, said["text"].encode("utf-8", "replace"), document)

    def _part(self, record: dict[str, Any], part: str) -> str:
        for path in self._paths(part):
            value: Any = record
            for key in path.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, str | int) and not isinstance(value, bool):
                return _encodable(str(value)).strip()
        return ""

    def _paths(self, part: str) -> tuple[str, ...]:
        return (self.fields[part],) if part in self.fields else USUAL_FIELDS[part]

    # --- out ---

    def submit(self, place: str, body: bytes, document: Document) -> Iterator[Submission]:
        """The document with what is said of all; when it is empty, too large, or a second one, a problem instead."""
        if len(body) > self.max_bytes:
            self.problem(place, f"larger than {self.max_bytes} bytes")
            return
        if not body.strip():
            self.problem(place, "empty")
            return
        digest = hashlib.sha256(body).hexdigest()
        known = self._digests.setdefault(document.source, digest)
        if known != digest:
            self.problem(place, f"another document is called {document.source} too")
            return
        said = {"digest": digest, "collection": self.collection, "language": document.language or self.language}
        yield Submission(document.model_copy(update=said), body)

    def problem(self, path: str, reason: str) -> None:
        """Keep what could not be read, and why."""
        self.problems.append(Problem(path, reason))


def _encodable(text: str) -> str:
    """Without the halves of characters that file names and JSON escapes may hold."""
    return text.encode("utf-8", "replace").decode()


def _why(error: OSError) -> str:
    return (error.strerror or os.strerror(error.errno or 0)).lower()
