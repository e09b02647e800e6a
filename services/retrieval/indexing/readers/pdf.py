"""PDF: the text of each page, lines joined again where the page broke them."""

from __future__ import annotations

import io
import logging
import re
from typing import TYPE_CHECKING

from services.retrieval.indexing.dates import first_day
from services.retrieval.indexing.readers.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.contracts.errors import DocumentError

if TYPE_CHECKING:
    from pypdf import PdfReader

#: A word cut at the end of a line: `docu-` / `ment`.
_CUT_WORD = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n(?=[^\W\d_])")
_MAX_PAGES = 5000


def read_pdf(body: bytes) -> ParsedDocument:
    """Read the text of a PDF; a passage's anchor is its page.

    Raises:
        DocumentError: it is encrypted, damaged, too long, or holds pictures only.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports each oddity of a file it can read
    try:
        reader = PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("this PDF is encrypted; hand it in without a password")
        if len(reader.pages) > _MAX_PAGES:
            raise DocumentError(f"this PDF has more than {_MAX_PAGES} pages; hand it in in parts")
        writer = DocumentBuilder()
        for number, page in enumerate(reader.pages, start=1):
            writer.anchor = f"#page={number}"
            for paragraph in re.split(r"\n[ \t]*\n", _CUT_WORD.sub("", page.extract_text())):
                writer.add("paragraph", paragraph)
        title = squeeze(str(reader.metadata.title or "")) if reader.metadata else ""
        date = _changed_on(reader)
    except DocumentError:
        raise
    except (FileNotDecryptedError, DependencyError):
        raise DocumentError("this PDF is encrypted; hand it in without a password") from None
    except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, OSError, RecursionError) as error:
        raise DocumentError(f"this PDF is damaged and cannot be read ({type(error).__name__})") from None
    if not writer.blocks:
        raise DocumentError("this PDF holds no text, perhaps only scanned pages; hand it in after text recognition")
    return writer.finish(title=title, date=date)


def _changed_on(reader: PdfReader) -> str:
    """When it was last changed; `D:20250131…` in the file."""
    said = reader.metadata
    raw = (said.get("/ModDate") or said.get("/CreationDate") or "") if said else ""
    return first_day([re.sub(r"^D:(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", str(raw), flags=re.DOTALL)])
