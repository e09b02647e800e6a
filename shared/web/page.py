"""Extracts the text of a single web page; documents that are indexed go through the readers of retrieval instead."""

from __future__ import annotations

import re
from typing import NamedTuple

from shared.contracts.errors import RefusedError
from shared.text.charsets import codec_of
from shared.web.client import FetchResult

_HTML = ("text/html", "application/xhtml+xml")
_INVISIBLE_TAGS = [
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "object",
    "form",
    "nav",
    "aside",
    "dialog",
]
_BOILERPLATE_TAGS = ["header", "footer"]
_CHARSET = re.compile(rb"charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
#: Elements with text that is a line of its own.
_BLOCK_TAGS = "p,div,section,article,li,dt,dd,tr,blockquote,pre,h1,h2,h3,h4,h5,h6,br,figcaption,caption,summary"
_BREAK = "\x1e"


class Page(NamedTuple):
    """The title and the text, one paragraph per line; `language` is the value of the `lang` attribute."""

    title: str
    text: str
    language: str = ""


def read_page(fetched: FetchResult) -> Page:
    """The page as text, without navigation, forms and scripts. Takes up to 20 ms for a megabyte.

    Raises:
        RefusedError: the page is neither HTML nor plain text.
    """
    kind = fetched.media_type or "text/html"
    if kind in _HTML:
        return _html(fetched)
    if kind.startswith("text/") or kind == "application/json":
        return Page("", _decoded(fetched).strip())
    raise RefusedError(f"only HTML and plain text can be read, not {kind[:60]}")


def _html(fetched: FetchResult) -> Page:
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(_decoded(fetched))
    title = page.css_first("title")
    root = page.root
    page.strip_tags(_INVISIBLE_TAGS)
    main = page.css_first("main") or page.css_first("article")
    if main is None:
        page.strip_tags(_BOILERPLATE_TAGS)
        main = page.body
    marked_text = ""
    if main is not None:
        for node in main.css(_BLOCK_TAGS):
            node.insert_before(_BREAK)
            node.insert_after(_BREAK)
        marked_text = main.text()
    paragraphs = (" ".join(part.split()) for part in marked_text.split(_BREAK))
    return Page(
        title=" ".join(title.text().split()) if title else "",
        text="\n".join(part for part in paragraphs if part),
        language=(root.attributes.get("lang") or "") if root else "",
    )


def _decoded(fetched: FetchResult) -> str:
    """Decodes the body by the charset of the headers, else by that of the page's head, else as UTF-8."""
    found = re.search(r"charset=[\"']?([\w-]{1,40})", fetched.headers.get("content-type", ""), re.IGNORECASE)
    declared = _CHARSET.search(fetched.body[:4096])
    name = found[1] if found else declared[1].decode("ascii") if declared else ""
    return fetched.body.decode(codec_of(name) or "utf-8", errors="replace")
