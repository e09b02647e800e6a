"""Office files are ZIP archives of XML: what must be known of one before anything opens it."""

from __future__ import annotations

import io
import zipfile
import zlib

from shared.contracts.errors import DocumentError

#: What a file may unpack to, in bytes and in files; a real one of this size would have thousands of pages.
_MAX_BYTES = 256 * 2**20
_MAX_PART = 128 * 2**20
_MAX_FILES = 20_000
#: More than this many bytes out of one is not how text packs.
_MAX_RATIO = 200
_RATIO_FROM = 4 * 2**20
#: How the older formats, and the new ones under a password, begin.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


def check_archive(body: bytes) -> None:
    """Judge the archive by its table of contents, and its XML by its beginnings; nothing is unpacked whole.

    The sizes in the table can be trusted as limits: no more than they say is ever unpacked.

    Raises:
        DocumentError: it is under a password, of an older format, damaged, unpacks to too much, or declares entities.
    """
    if body.startswith(_COMPOUND):
        raise DocumentError("this file is under a password or of an older Office format; save it anew without either")
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            parts = archive.infolist()
            if any(part.flag_bits & 1 for part in parts):
                raise DocumentError("this file is under a password; hand it in without one")
            _check_sizes(parts)
            for part in parts:
                if part.filename.endswith((".xml", ".rels", ".vml")):
                    _check_beginning(archive, part)
    except (zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError, zlib.error) as error:
        raise DocumentError(f"this file is damaged and cannot be read ({type(error).__name__})") from None


def _check_sizes(parts: list[zipfile.ZipInfo]) -> None:
    total = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts), default=0)
    packed = sum(part.compress_size for part in parts)
    if len(parts) > _MAX_FILES or total > _MAX_BYTES or largest > _MAX_PART:
        raise DocumentError("this file unpacks to more than can be read; hand it in in parts")
    if total > _RATIO_FROM and total > _MAX_RATIO * max(1, packed):
        raise DocumentError("this file unpacks to far more than a document holds and was not opened")


def _check_beginning(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Office writes no document type; one is how entities that blow up or read files are declared."""
    with archive.open(part) as file:
        beginning = file.read(4096)
    if any(doctype in beginning for doctype in _DOCTYPES):
        raise DocumentError("this file declares a document type, which Office files never do, and was not opened")
