"""Safety checks of Office files, which are ZIP archives of XML, before any library opens them."""

from __future__ import annotations

import io
import zipfile
import zlib

from shared.contracts.errors import DocumentError

#: Limits of the unpacked size in bytes and of the number of files; a real document of this size has thousands of pages.
_MAX_BYTES = 256 * 2**20
_MAX_PART = 128 * 2**20
_MAX_FILES = 20_000
#: Highest compression ratio; text does not compress better. Checked from `_RATIO_FROM` bytes on.
_MAX_RATIO = 200
_RATIO_FROM = 2**20
#: First bytes of older formats and of password-protected files.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
#: Bytes of a part that are searched at once, and of those that are searched again with the next ones.
_CHUNK, _OVERLAP = 2**20, max(map(len, _DOCTYPES)) - 1


def check_archive(body: bytes) -> None:
    """Check the sizes in the archive's directory, and each XML part for entities; nothing is unpacked as a whole.

    The sizes in the directory can be trusted as limits: `zipfile` never unpacks more than they say.

    Raises:
        DocumentError: password-protected, an older format, damaged, too large when unpacked, or declares entities.
    """
    if body.startswith(_COMPOUND):
        raise DocumentError(
            "this file is password-protected or in an older Office format; "
            "save it as .docx, .pptx or .xlsx without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            parts = archive.infolist()
            if any(part.flag_bits & 1 for part in parts):
                raise DocumentError("this file is password-protected; submit it without a password")
            _check_sizes(parts)
            for part in parts:
                if part.filename.endswith((".xml", ".rels", ".vml")):
                    _check_prolog(archive, part)
    except (zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError, zlib.error) as error:
        raise DocumentError(
            f"this file is damaged ({type(error).__name__}); open and save it again, then submit that copy"
        ) from None


def _check_sizes(parts: list[zipfile.ZipInfo]) -> None:
    total = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts), default=0)
    packed = sum(part.compress_size for part in parts)
    if len(parts) > _MAX_FILES or total > _MAX_BYTES or largest > _MAX_PART:
        raise DocumentError("this file is too large when unpacked; split it and submit the parts")
    if total > _RATIO_FROM and total > _MAX_RATIO * max(1, packed):
        raise DocumentError(
            "this file has a compression ratio that no document has, and was not opened; submit it as PDF or text"
        )


def _check_prolog(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Office writes no document type declaration; attacks by XML entities need one.

    The whole part is searched: any number of comments and spaces may stand before the declaration.
    """
    with archive.open(part) as file:
        before = b""
        while chunk := file.read(_CHUNK):
            window = before + chunk
            if any(doctype in window for doctype in _DOCTYPES):
                raise DocumentError(
                    "this file has an XML document type, which Office never writes, and was not opened; "
                    "save it again in Office"
                )
            before = window[-_OVERLAP:]
