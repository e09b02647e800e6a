"""HTML: the words of the page, without scripts, navigation and decoration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from services.retrieval.indexing.dates import first_day
from services.retrieval.indexing.readers.decode import decode
from services.retrieval.indexing.readers.parsed_document import DocumentBuilder, ParsedDocument, squeeze

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
#: Where a page may say when it was last changed, the most telling first.
_DATES = (
    *("dcterms.modified", "dc.date.modified", "article:modified_time", "og:updated_time", "last-modified"),
    *("dcterms.issued", "dc.date.issued", "article:published_time", "dc.date", "date", "pubdate"),
)
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "object", "form", "nav", "aside", "dialog"]
#: Outside the main part of a page they carry the site's name and links.
_FRAME = ["header", "footer"]
_BLOCKS = frozenset(
    [
        *("address", "article", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt"),
        *(
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "header",
            "hr",
            "html",
            "legend",
            "li",
            "main",
            "ol",
            "p",
            "pre",
        ),
        *("section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"),
    ]
)


def read_html(body: bytes) -> ParsedDocument:
    """Read HTML: `<main>` or `<article>` where the page has one, else its body; `<title>` and `lang` as they are."""
    from selectolax.lexbor import LexborHTMLParser

    declared = _CHARSET.search(body[:4096])
    page = LexborHTMLParser(decode(body, declared[1].decode("ascii") if declared else ""))
    said = _said_of_itself(page)
    page.strip_tags(_UNSEEN)
    root = _main_part(page)
    if root is None:
        return DocumentBuilder().finish(**said)
    walk = _Walk()
    walk.through(root)
    return walk.writer.finish(**said)


def _said_of_itself(page: LexborHTMLParser) -> dict[str, str]:
    """What the page says of itself, by the names that `Writer.finish` takes."""
    title = page.css_first("head > title")
    canonical = page.css_first('link[rel="canonical"]')
    root = page.root
    meta: dict[str, str] = {}
    for tag in page.css("meta[content]"):
        name = tag.attributes.get("property") or tag.attributes.get("name") or ""
        meta.setdefault(name.lower(), tag.attributes.get("content") or "")
    marked = page.css_first('time[property="dateModified"], [itemprop="dateModified"]')
    days = [meta.get(name, "") for name in _DATES]
    if marked:
        days.insert(0, marked.attributes.get("datetime") or marked.attributes.get("content") or marked.text())
    return {
        "title": squeeze(title.text()) if title else "",
        "language": (root.attributes.get("lang") or "") if root else "",
        "url": (canonical.attributes.get("href") or "") if canonical else "",
        "date": first_day(days),
        "description": meta.get("description") or meta.get("og:description") or meta.get("dcterms.description") or "",
    }


def _main_part(page: LexborHTMLParser) -> LexborNode | None:
    for selector in ("main", '[role="main"]', "article"):
        parts = page.css(selector)
        if len(parts) == 1 and parts[0].text(strip=True):
            return parts[0]
    page.strip_tags(_FRAME)
    return page.body


class _Walk:
    """Goes through the nodes in the order of the page, without recursion: pages can be nested thousands deep."""

    def __init__(self) -> None:
        self.writer = DocumentBuilder()
        self._said: list[str] = []
        self._opened: list[str] = []

    def through(self, root: LexborNode) -> None:
        node: LexborNode | None = root
        depth = 0
        while node is not None:
            self._enter(node)
            child = node.first_child
            if child is not None:
                node, depth = child, depth + 1
                continue
            self._leave(node)
            while depth and node.next is None and node.parent is not None:
                node, depth = node.parent, depth - 1
                self._leave(node)
            node = node.next if depth else None
        self._flush("p")

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._said.append(node.text_content or "")
        elif tag == "br":
            self._said.append("\n" if "pre" in self._opened else "\x00")
        elif tag == "a":
            self.writer.link(node.attributes.get("href") or "")
        elif tag in ("td", "th"):
            self._said.append(" | " if self._said else "")
        elif tag in _BLOCKS:
            self._flush(self._opened[-1] if self._opened else "p")
            self._opened.append(tag)

    def _leave(self, node: LexborNode) -> None:
        if self._opened and node.tag == self._opened[-1]:
            self._flush(self._opened.pop())

    def _flush(self, tag: str) -> None:
        """Write what was said since the last block began, as the block it stands in."""
        said, self._said = "".join(self._said), []
        if tag == "pre":
            self.writer.add("code", said)
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.writer.heading(int(tag[1]), said.replace("\x00", " "))
        else:
            lines = [squeeze(line) for line in said.split("\x00")]
            text = "\n".join(line for line in lines if line)
            listed = tag in ("li", "dd", "tr") or "li" in self._opened
            self.writer.add("item" if listed else "paragraph", f"- {text}" if text and tag == "li" else text)
