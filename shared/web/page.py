"""The words of a web page, for who reads one page and does not keep it."""

from __future__ import annotations

import re
from typing import NamedTuple

from shared.contracts.errors import RefusedError
from shared.web.client import Fetched

_HTML = ("text/html", "application/xhtml+xml")
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "object", "form", "nav", "aside", "dialog"]
_FRAME = ["header", "footer"]
_CHARSET = re.compile(rb"charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
#: What stands in lines of its own.
_BLOCKS = "p,div,section,article,li,dt,dd,tr,blockquote,pre,h1,h2,h3,h4,h5,h6,br,figcaption,caption,summary"
_BREAK = "\x1e"


class Page(NamedTuple):
    """Its title and its text, paragraphs apart; `language` as the page says it."""

    title: str
    text: str
    language: str = ""


def read_page(fetched: Fetched) -> Page:
    """The page as text, without navigation and decoration. Takes up to 20 ms for a megabyte.

    Raises:
        RefusedError: it is neither HTML nor plain text.
    """
    kind = fetched.media_type or "text/html"
    if kind in _HTML:
        return _html(fetched)
    if kind.startswith("text/") or kind == "application/json":
        return Page("", _decoded(fetched).strip())
    raise RefusedError(f"only pages and plain texts can be read, not {kind[:60]}")


def _html(fetched: Fetched) -> Page:
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(_decoded(fetched))
    title = page.css_first("title")
    root = page.root
    page.strip_tags(_UNSEEN)
    main = page.css_first("main") or page.css_first("article")
    if main is None:
        page.strip_tags(_FRAME)
        main = page.body
    said = ""
    if main is not None:
        for node in main.css(_BLOCKS):
            node.insert_before(_BREAK)
            node.insert_after(_BREAK)
        said = main.text()
    paragraphs = (" ".join(part.split()) for part in said.split(_BREAK))
    return Page(
        title=" ".join(title.text().split()) if title else "",
        text="\n".join(part for part in paragraphs if part),
        language=(root.attributes.get("lang") or "") if root else "",
    )


def _decoded(fetched: Fetched) -> str:
    """By the charset of the headers, of the page's head, else UTF-8."""
    found = re.search(r"charset=[\"']?([\w-]{1,40})", fetched.headers.get("content-type", ""), re.IGNORECASE)
    declared = _CHARSET.search(fetched.body[:4096])
    name = found[1] if found else declared[1].decode("ascii") if declared else "utf-8"
    try:
        return fetched.body.decode(name, errors="replace")
    except LookupError:
        return fetched.body.decode("utf-8", errors="replace")
