"""Reads files of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shared.contracts.errors import RefusedError

#: The JSON object of a line, and the number of the line from 1.
NumberedObject = tuple[int, dict[str, Any]]


def json_lines(path: Path, *required: str) -> Iterator[NumberedObject]:
    """The objects of a file; see `json_objects`.

    Raises:
        RefusedError: the file cannot be read, is not UTF-8, or has a line of another form.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from json_objects(path, file, *required)
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RefusedError(f"{path}: not UTF-8; save the file as UTF-8") from None


def json_objects(path: Path, lines: Iterable[str], *required: str) -> Iterator[NumberedObject]:
    """The objects of the lines, empty ones skipped; `path` is for the error.

    A line ends where a file's lines end: `str.splitlines` also ends it at U+2028, which JSON strings may have.

    Raises:
        RefusedError: a line is not JSON, or not an object that has the keys `required`.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise RefusedError(f"{path}: line {number}: not JSON ({str(error).partition(':')[0]})") from None
        if not isinstance(record, dict) or any(not record.get(key) for key in required):
            keys = f" with {', '.join(required)}" if required else ""
            raise RefusedError(f"{path}: line {number}: expected an object{keys}")
        yield number, record


def kept_lines(path: Path) -> list[bytes]:
    """The lines of a file to which a run adds one at a time; none without a file.

    An incomplete last line, of a run that was killed, is cut off on the disk as well, so that another can be added.

    Raises:
        OSError: the file cannot be read or written.
    """
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        path.write_bytes(whole)
    return whole.split(b"\n")[:-1]
