"""Reader of PDF: the text of each page, with hyphenated words joined."""

from __future__ import annotations

import io
import logging
import re
from typing import TYPE_CHECKING

from shared.contracts.errors import DocumentError
from shared.documents.declared_access import Properties
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.text.dates import first_day

if TYPE_CHECKING:
    from pypdf import PdfReader

#: A word hyphenated at the end of a line: `docu-` / `ment`.
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n(?=[^\W\d_])")
_MAX_PAGES = 5000
#: Bytes of the XML metadata in which declarations of access are looked for.
_XML_BYTES = 64 * 1024


def read_pdf(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read the text of a PDF; the anchor is the page number.

    Raises:
        DocumentError: encrypted, damaged, too long, or without text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs every irregularity of readable files
    try:
        reader = PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("this PDF is encrypted; submit it without a password")
        if len(reader.pages) > _MAX_PAGES:
            raise DocumentError(f"this PDF has more than {_MAX_PAGES} pages; split it and submit the parts")
        builder = DocumentBuilder(len(body), limits)
        for number, page in enumerate(reader.pages, start=1):
            builder.anchor = f"#page={number}"
            for paragraph in re.split(r"\n[ \t]*\n", _HYPHENATED.sub("", page.extract_text())):
                builder.add("paragraph", paragraph)
        builder.properties = _properties(reader)
        title = squeeze(str(reader.metadata.title or "")) if reader.metadata else ""
        date = _modification_date(reader)
    except DocumentError:
        raise
    except (FileNotDecryptedError, DependencyError):
        raise DocumentError("this PDF is encrypted; submit it without a password") from None
    except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, OSError, RecursionError) as error:
        raise DocumentError(f"this PDF is damaged ({type(error).__name__}); submit a repaired copy") from None
    if not builder.blocks:
        raise DocumentError("this PDF has no text, perhaps only scanned pages; submit it after text recognition (OCR)")
    return builder.finish(title=title, date=date)


def _modification_date(reader: PdfReader) -> str:
    """The day of the last change; the file has it as `D:20250131…`."""
    metadata = reader.metadata
    raw = (metadata.get("/ModDate") or metadata.get("/CreationDate") or "") if metadata else ""
    return first_day([re.sub(r"^D:(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", str(raw), flags=re.DOTALL)])


def _properties(reader: PdfReader) -> Properties:
    """The document's information, and its packet of XML metadata as it is written."""
    packet = reader.root_object.get("/Metadata")
    xml = packet.get_object().get_data()[:_XML_BYTES].decode("utf-8", "replace") if packet else ""
    return (*((str(name), str(value)) for name, value in (reader.metadata or {}).items()), ("", xml))
