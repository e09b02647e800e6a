"""The Markdown of an answer as blocks of styled text, and blocks as messages of limited length.

Styles are spans rather than markup, so a message can be cut anywhere and every part is well-formed on its platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from markdown_it import MarkdownIt

from channels.reply import ChatReply, ReplySource

if TYPE_CHECKING:
    from markdown_it.token import Token

#: Words with the white space that follows them, and white space that follows none.
_WORD = re.compile(r"\S++\s*+|\s++")
_LINK_SCHEMES = ("http://", "https://", "mailto:")


@dataclass(frozen=True, slots=True)
class SpanStyle:
    """How text looks; `link` is its address, `fenced` is a block of code."""

    bold: bool = False
    italic: bool = False
    struck: bool = False
    code: bool = False
    fenced: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Text of one style."""

    text: str
    style: SpanStyle = SpanStyle()


TextBlock = tuple[TextSpan, ...]


class ChatMarkup(Protocol):
    """The markup of a platform."""

    def span(self, span: TextSpan) -> str:
        """The span in the platform's markup, with all other characters escaped."""
        ...

    def length(self, text: str) -> int:
        """How much of the limit the text takes."""
        ...


class _BlockBuilder:
    """Walks the tokens of a document."""

    def __init__(self) -> None:
        self.blocks: list[TextBlock] = []
        self._lists: list[int | None] = []
        self._quotes = 0
        self._marker = ""
        self._heading = False
        self._row: list[TextSpan] = []
        self._tight = False

    def token(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._marker = self._next_marker()
            case "blockquote_open" | "blockquote_close":
                self._quotes += 1 if token.type == "blockquote_open" else -1
            case "heading_open" | "heading_close" | "th_open" | "th_close":
                self._heading = token.type.endswith("open")
            case "inline":
                self._inline(token)
            case "fence" | "code_block":
                self._add((TextSpan(token.content.rstrip("\n"), SpanStyle(fenced=True)),))
            case "html_block":
                self._add((TextSpan(token.content.strip()),))
            case "hr":
                self._add((TextSpan("———"),))
            case "tr_close":
                self._add(tuple(self._row), tight=True)
                self._row = []

    def _next_marker(self) -> str:
        number = self._lists[-1]
        indent = "    " * (len(self._lists) - 1)
        if number is None:
            return f"{indent}• "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _inline(self, token: Token) -> None:
        spans = tuple(_spans(token.children or [], SpanStyle(bold=self._heading)))
        if token.level and self._in_table(token):
            self._row += [TextSpan(" | "), *spans] if self._row else spans
        else:
            self._add(spans)

    def _in_table(self, token: Token) -> bool:
        return bool(token.meta.get("cell"))

    def _add(self, spans: TextBlock, *, tight: bool = False) -> None:
        """Add a block; items of a list and rows of a table are lines of one block."""
        marker, self._marker = self._marker, ""
        if not marker and self._lists:
            marker = "    " * len(self._lists)
        lead = "> " * self._quotes + marker
        block = (TextSpan(lead), *spans) if lead else spans
        tight = tight or bool(self._lists)
        if tight and self._tight:
            self.blocks[-1] += (TextSpan("\n"), *block)
        else:
            self.blocks.append(block)
        self._tight = tight


def blocks_of(markdown: str) -> list[TextBlock]:
    """The blocks of a Markdown text; HTML in it is text, and so are links to anything but web addresses."""
    builder = _BlockBuilder()
    tokens = _parser().parse(markdown)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None and before.type in ("td_open", "th_open"):
            token.meta["cell"] = True
        builder.token(token)
    return [block for block in builder.blocks if any(span.text.strip() for span in block)]


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _spans(tokens: Sequence[Token], base: SpanStyle) -> Iterator[TextSpan]:
    styles = [base]
    for token in tokens:
        style = styles[-1]
        match token.type:
            case "strong_open":
                styles.append(replace(style, bold=True))
            case "em_open":
                styles.append(replace(style, italic=True))
            case "s_open":
                styles.append(replace(style, struck=True))
            case "link_open":
                url = str(token.attrGet("href") or "")
                styles.append(replace(style, link=url) if url.lower().startswith(_LINK_SCHEMES) else style)
            case "strong_close" | "em_close" | "s_close" | "link_close":
                styles.pop()
            case "code_inline":
                yield TextSpan(token.content, replace(style, code=True))
            case "softbreak" | "hardbreak":
                yield TextSpan("\n", style)
            case "image":
                url = str(token.attrGet("src") or "")
                safe = url if url.lower().startswith(_LINK_SCHEMES) else ""
                yield TextSpan(token.content or url, replace(style, link=safe or style.link))
            case _:
                if token.content:
                    yield TextSpan(token.content, style)


def messages_of(blocks: Sequence[TextBlock], markup: ChatMarkup, limit: int) -> list[str]:
    """The blocks as messages of at most `limit`: cut between blocks, else between words, else anywhere."""
    messages: list[str] = []
    current = ""
    for block in blocks:
        shown = _shown(block, markup)
        joined = f"{current}\n\n{shown}" if current else shown
        if markup.length(joined) <= limit:
            current = joined
            continue
        if current:
            messages.append(current)
        *whole, current = _cut(block, markup, limit) if markup.length(shown) > limit else [shown]
        messages += whole
    return [*messages, current] if current else messages


def reply_messages(reply: ChatReply, markup: ChatMarkup, limit: int) -> list[str]:
    """The messages of a reply: its text, then its sources as links, numbered as in the text."""
    blocks = blocks_of(reply.text)
    if reply.sources:
        blocks.append(tuple(span for source in reply.sources for span in _source_line(source))[:-1])
    return messages_of(blocks, markup, limit)


def _source_line(source: ReplySource) -> tuple[TextSpan, ...]:
    url = source.url if source.url.lower().startswith(_LINK_SCHEMES) else ""
    number = f"[{source.number}] " if source.number else "→ "
    title = " ".join(source.title.split()) or url
    return TextSpan(number), TextSpan(title, SpanStyle(link=url)), TextSpan("\n")


def _shown(block: Sequence[TextSpan], markup: ChatMarkup) -> str:
    return "".join(map(markup.span, _merged(block)))


def _merged(spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Neighbours of one style as one span."""
    merged: list[TextSpan] = []
    texts: list[str] = []
    for span in spans:
        if merged and merged[-1].style == span.style:
            texts.append(span.text)
            continue
        if merged:
            merged[-1] = replace(merged[-1], text="".join(texts))
        merged.append(span)
        texts = [span.text]
    if merged:
        merged[-1] = replace(merged[-1], text="".join(texts))
    return [span for span in merged if span.text]


def _cut(block: TextBlock, markup: ChatMarkup, limit: int) -> list[str]:
    """A block that is too long, as several messages."""
    parts: list[str] = []
    current: list[TextSpan] = []
    used = 0
    for word in _words(block, markup, limit):
        # A style is counted again with each word, so a part is never longer than it is thought to be.
        length = markup.length(markup.span(word))
        if current and used + length > limit:
            parts.append(_shown(current, markup).strip())
            current, used = [], 0
        current.append(word)
        same = len(current) > 1 and current[-2].style == word.style
        used += length - _overhead(word, markup) if same else length
    return [part for part in [*parts, _shown(current, markup).strip()] if part]


def _overhead(span: TextSpan, markup: ChatMarkup) -> int:
    """What the markup of the style takes by itself."""
    return markup.length(markup.span(replace(span, text="x"))) - 1


def _words(block: TextBlock, markup: ChatMarkup, limit: int) -> Iterator[TextSpan]:
    for span in block:
        style = span.style
        if _overhead(TextSpan("", style), markup) > limit // 2:  # an address that leaves no room for its text
            style = SpanStyle()
        # An escaped character takes six at most.
        longest = max(1, (limit - _overhead(TextSpan("", style), markup)) // 6)
        for word in _WORD.findall(span.text):
            for start in range(0, len(word), longest):
                yield TextSpan(word[start : start + longest], style)
