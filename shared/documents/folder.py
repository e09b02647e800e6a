"""Reader of ZIP and TAR archives: their files as the sections of one document, each read by its own reader."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

from shared.contracts.errors import DocumentError
from shared.documents.attachments import Attachment, ReadInner, write_attachment
from shared.documents.document_limits import DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument

#: Most files, and most bytes of one and of all when unpacked.
_MOST_FILES, _MOST_BYTES, _MOST_OF_ALL = 2000, 32 * 2**20, 128 * 2**20


def read_zip(body: bytes, limits: DocumentLimits, read: ReadInner) -> ParsedDocument:
    """Read the files of a ZIP archive.

    Raises:
        DocumentError: damaged, password-protected, or too large when unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _read(_zipped(archive), len(body), limits, read)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
        if isinstance(error, DocumentError):
            raise
        raise _damaged(error) from None


def read_tar(body: bytes, limits: DocumentLimits, read: ReadInner) -> ParsedDocument:
    """Read the files of a TAR archive, also a compressed one.

    Raises:
        DocumentError: damaged, or too large when unpacked.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(body), mode="r|*") as archive:
            return _read(_tarred(archive), len(body), limits, read)
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        if isinstance(error, DocumentError):
            raise
        raise _damaged(error) from None


def _damaged(error: Exception) -> DocumentError:
    return DocumentError(f"this archive is damaged or protected ({type(error).__name__}); submit its files one by one")


def _read(files: Iterator[tuple[str, bytes]], size: int, limits: DocumentLimits, read: ReadInner) -> ParsedDocument:
    builder = DocumentBuilder(size, limits)
    total = 0
    for number, (name, content) in enumerate(files, start=1):
        total += len(content)
        if number > _MOST_FILES or total > _MOST_OF_ALL:
            raise DocumentError(
                f"this archive has more than {_MOST_FILES} files or {_MOST_OF_ALL} bytes; submit its files"
            )
        builder.place = f"file {name}"
        write_attachment(builder, Attachment(name, "", content), limits, read)
    return builder.finish()


def _zipped(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    for part in archive.infolist():
        if part.is_dir() or _is_hidden(part.filename):
            continue
        with archive.open(part) as file:
            yield part.filename, _limited(file.read(_MOST_BYTES + 1), part.filename)


def _tarred(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for part in archive:
        if not part.isfile() or _is_hidden(part.name):
            continue
        file = archive.extractfile(part)
        if file is not None:
            yield part.name, _limited(file.read(_MOST_BYTES + 1), part.name)


def _limited(content: bytes, name: str) -> bytes:
    if len(content) > _MOST_BYTES:
        raise DocumentError(f"{name} in this archive has more than {_MOST_BYTES} bytes; submit it by itself, in parts")
    return content


def _is_hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or any(part.startswith(".") for part in name.removeprefix("./").split("/"))
