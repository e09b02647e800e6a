"""Reader of Markdown: front matter, headings, lists, tables and code, without the markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from services.retrieval.indexing.dates import first_day
from services.retrieval.indexing.document_limits import DEFAULT_LIMITS, DocumentLimits
from services.retrieval.indexing.readers.decode import decode
from services.retrieval.indexing.readers.html import read_html
from services.retrieval.indexing.readers.parsed_document import DocumentBuilder, ParsedDocument, squeeze

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: Front matter keys with the date of the last change, the most reliable first.
_DATES = ("updated", "last_updated", "lastmod", "last_modified", "modified", "date", "published", "created")
#: Longest front matter that is read; longer ones are no metadata.
_FRONT_MATTER_CHARS = 20_000
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def read_markdown(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read Markdown (CommonMark with tables); front matter gives `title`, `url`, `lang`, dates, `description`."""
    text = decode(body)
    front: dict[str, Any] = {}
    matter = _FRONT_MATTER.match(text)
    if matter:
        front = _front_matter(matter[1])
        text = text[matter.end() :]
    visitor = _TokenVisitor(DocumentBuilder(len(body), limits))
    for token in _parser().parse(text):
        visitor.visit(token)
    metadata = {str(name).lower(): squeeze(value) for name, value in front.items() if isinstance(value, str)}
    return visitor.builder.finish(
        title=metadata.get("title", ""),
        url=metadata.get("url", ""),
        language=metadata.get("lang") or metadata.get("language", ""),
        date=first_day(metadata.get(name, "") for name in _DATES),
        description=metadata.get("description") or metadata.get("summary", ""),
    )


def _front_matter(text: str) -> dict[str, Any]:
    """The front matter as a mapping of texts; empty if it is not valid YAML, is too long, or has anchors and aliases.

    Values stay as written: what looks like a date or number may be none (`2024-02-30`).
    """
    import yaml

    if len(text) > _FRONT_MATTER_CHARS:
        return {}
    try:
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            if isinstance(event, yaml.AliasEvent):
                return {}
        read = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (it makes texts, lists and mappings only)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


class _TokenVisitor:
    """Adds the text of the tokens of a document to a builder."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self.builder = builder
        self._lists = 0
        self._level = 0
        self._row: list[str] | None = None

    def visit(self, token: Token) -> None:
        match token.type:
            case "heading_open" | "heading_close":
                self._level = int(token.tag[1:]) if token.nesting == 1 else 0
            case "list_item_open" | "list_item_close":
                self._lists += token.nesting
            case "tr_open":
                self._row = []
            case "tr_close":
                self.builder.add("item", " | ".join(self._row or ()))
                self._row = None
            case "inline":
                for child in token.children or ():
                    if child.type == "link_open":
                        self.builder.link(str(child.attrs.get("href", "")))
                self._add_text(_inline(token))
            case "fence" | "code_block":
                self.builder.add("code", token.content)
            case "html_block":
                page = read_html(token.content.encode())
                for link in page.links:
                    self.builder.link(link.target)
                self.builder.add("paragraph", page.text)
            case _:
                pass  # markup without text

    def _add_text(self, text: str) -> None:
        if self._row is not None:
            self._row.append(squeeze(text))
        elif self._level:
            self.builder.heading(self._level, text)
        elif self._lists:
            self.builder.add("item", f"- {text}")
        else:
            self.builder.add("paragraph", text)


def _inline(token: Token) -> str:
    return "".join(_pieces(token.children or []))


def _pieces(children: list[Token]) -> Iterator[str]:
    for child in children:
        match child.type:
            case "text" | "code_inline":
                yield child.content
            case "softbreak":
                yield " "
            case "hardbreak":
                yield "\n"
            case "image":
                yield child.content  # its alternative text
            case _:
                continue
