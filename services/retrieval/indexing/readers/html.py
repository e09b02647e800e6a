"""Reader of HTML: the text of the page, without scripts, navigation and decoration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from services.retrieval.indexing.dates import first_day
from services.retrieval.indexing.document_limits import DEFAULT_LIMITS, DocumentLimits
from services.retrieval.indexing.readers.decode import decode
from services.retrieval.indexing.readers.parsed_document import DocumentBuilder, ParsedDocument, squeeze

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
#: Meta tags with the date of the last change, the most reliable first.
_DATES = (
    *("dcterms.modified", "dc.date.modified", "article:modified_time", "og:updated_time", "last-modified"),
    *("dcterms.issued", "dc.date.issued", "article:published_time", "dc.date", "date", "pubdate"),
)
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "object", "form", "nav", "aside", "dialog"]
#: Outside the main part of a page these have only the site's name and links.
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


def read_html(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read HTML: the only `<main>` or `<article>` of the page, else its body; with title, language and links."""
    from selectolax.lexbor import LexborHTMLParser

    declared = _CHARSET.search(body[:4096])
    page = LexborHTMLParser(decode(body, declared[1].decode("ascii") if declared else ""))
    metadata = _metadata(page)
    page.strip_tags(_UNSEEN)
    root = _main_part(page)
    if root is None:
        return DocumentBuilder(len(body), limits).finish(**metadata)
    traversal = _Traversal(DocumentBuilder(len(body), limits))
    traversal.run(root)
    return traversal.builder.finish(**metadata)


def _metadata(page: LexborHTMLParser) -> dict[str, str]:
    """The metadata of the page, as arguments of `DocumentBuilder.finish`."""
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


class _Traversal:
    """Visits the nodes in document order, without recursion: pages can be nested thousands deep."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self.builder = builder
        self._text: list[str] = []
        self._opened: list[str] = []

    def run(self, root: LexborNode) -> None:
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
            self._text.append(node.text_content or "")
        elif tag == "br":
            self._text.append("\n" if "pre" in self._opened else "\x00")
        elif tag == "a":
            self.builder.link(node.attributes.get("href") or "")
        elif tag in ("td", "th"):
            self._text.append(" | " if self._text else "")
        elif tag in _BLOCKS:
            self._flush(self._opened[-1] if self._opened else "p")
            self._opened.append(tag)

    def _leave(self, node: LexborNode) -> None:
        if self._opened and node.tag == self._opened[-1]:
            self._flush(self._opened.pop())

    def _flush(self, tag: str) -> None:
        """Add the text since the beginning of the last block as a block of its own."""
        joined, self._text = "".join(self._text), []
        if tag == "pre":
            self.builder.add("code", joined)
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.builder.heading(int(tag[1]), joined.replace("\x00", " "))
        else:
            lines = [squeeze(line) for line in joined.split("\x00")]
            text = "\n".join(line for line in lines if line)
            listed = tag in ("li", "dd", "tr") or "li" in self._opened
            self.builder.add("item" if listed else "paragraph", f"- {text}" if text and tag == "li" else text)
