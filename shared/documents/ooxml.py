"""What Word, PowerPoint and Excel files have in common: the checks before they are opened, errors, metadata."""

from __future__ import annotations

import io
import zipfile
import zlib
from datetime import datetime
from functools import wraps
from typing import Any, Protocol
from xml.etree import ElementTree

from shared.contracts.errors import DocumentError
from shared.documents.archive import check_archive
from shared.documents.declared_access import Properties
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.parsed_document import ParsedDocument, squeeze

_CUSTOM = "docProps/custom.xml"
#: Exceptions of the libraries on malformed files.
_DAMAGED = (KeyError, ValueError, TypeError, AttributeError, IndexError, OSError, RecursionError, AssertionError)


class _Read(Protocol):
    def __call__(self, body: bytes, limits: DocumentLimits = ..., /) -> ParsedDocument: ...


def guarded(read: _Read) -> _Read:
    """Checks the archive first, and converts the errors of the libraries into `DocumentError`."""

    @wraps(read)
    def reader(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
        check_archive(body)
        try:
            return read(body, limits)
        except DocumentError:
            raise
        except (*_DAMAGED, SyntaxError, zipfile.BadZipFile, zlib.error) as error:  # lxml's errors are SyntaxErrors
            raise _damaged(error) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("docx", "pptx", "openpyxl", "lxml"):
                raise
            raise _damaged(error) from None

    return reader


def _damaged(error: Exception) -> DocumentError:
    return DocumentError(
        f"this file is damaged ({type(error).__name__}); open and save it again, then submit that copy"
    )


def file_metadata(properties: Any) -> dict[str, str]:
    """The metadata of the file, as arguments of `DocumentBuilder.finish`."""
    changed = properties.modified or properties.created
    return {
        "title": squeeze(properties.title or ""),
        "date": changed.date().isoformat() if isinstance(changed, datetime) else "",
        "language": squeeze(properties.language or ""),
        "description": squeeze(
            getattr(properties, "description", "") or getattr(properties, "comments", "") or properties.subject or ""
        ),
    }


def file_properties(body: bytes, core: Any) -> Properties:
    """The texts among the properties of the file, and those that its owner added (`docProps/custom.xml`)."""
    names = ("title", "subject", "keywords", "category", "comments", "description", "content_status", "contentStatus")
    texts = ((name, getattr(core, name, None)) for name in names)
    custom: list[tuple[str, object]] = []
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        if _CUSTOM in archive.namelist():
            for item in ElementTree.fromstring(archive.read(_CUSTOM)):  # noqa: S314 (no file has a document type here)
                custom.append((item.get("name", ""), "".join(item.itertext())))
    return (*((name, text) for name, text in texts if isinstance(text, str)), *custom)
