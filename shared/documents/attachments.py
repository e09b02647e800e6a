"""Files within a document: attachments of messages and files of archives, each read by its own reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from shared.contracts.errors import DocumentError
from shared.documents.document_limits import DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument
from shared.text.file_types import MEDIA_TYPES

#: Most levels of archives within archives, and messages within messages.
_MOST_LEVELS = 3

#: Reads a file of any media type: `shared.documents.registry.read`.
ReadInner = Callable[[bytes, str, DocumentLimits], ParsedDocument]


class UnsupportedFormatError(DocumentError):
    """No reader for the media type."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file within another one; `media_type` is what the other one says it is."""

    name: str
    media_type: str
    body: bytes


def write_attachment(
    builder: DocumentBuilder, attachment: Attachment, limits: DocumentLimits, read: ReadInner, *, inline: bool = False
) -> None:
    """Add a file under its name; what cannot be read is noted as left out, with the reason."""
    suffix = PurePosixPath(attachment.name).suffix.lower()
    media_type = MEDIA_TYPES.get(suffix) or attachment.media_type
    name = attachment.name or media_type or "attachment"
    if inline and media_type.startswith("image/"):
        builder.left_out["picture in the text"] += 1
        return
    if limits.level >= _MOST_LEVELS:
        builder.left_out[f"{name} (nested too deep)"] += 1
        return
    try:
        document = read(attachment.body, media_type, replace(limits, level=limits.level + 1))
    except UnsupportedFormatError:
        builder.left_out[f"{name} (no reader)"] += 1
        return
    except DocumentError as error:
        builder.left_out[f"{name} ({error})"] += 1
        return
    level = builder.depth + 1
    builder.heading(level, name)
    builder.splice(document)
    builder.leave(level)
