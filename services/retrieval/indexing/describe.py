"""A one-line description of a document, for the source index."""

from __future__ import annotations

from shared.documents.parsed_document import ParsedDocument, squeeze
from shared.language.analysis import normalise, sentences

_CHARS = 160
#: Shorter descriptions are extended by the next sentence, in characters.
_MIN_CHARS = 60
_READ = 4000


def describe(parsed: ParsedDocument, title: str) -> str:
    """The document's own description, else its first sentences other than the title, else its headings."""
    if parsed.description:
        return shorten(parsed.description)
    prose = [block for block in parsed.blocks if block.kind in ("paragraph", "item", "record")]
    beginning = ""
    for block in prose[:20]:
        text = parsed.text[block.start : min(block.end, block.start + _READ)]
        for start, end in sentences(text):
            sentence = squeeze(text[start:end])
            if normalise(sentence) != normalise(title):
                beginning = f"{beginning} {sentence}".strip()
            if len(beginning) >= _MIN_CHARS:
                return shorten(beginning)
    headings = (heading for block in parsed.blocks for heading in block.headings if heading != title)
    return shorten(beginning or ", ".join(dict.fromkeys(headings)))


def shorten(text: str, limit: int = _CHARS) -> str:
    """The text on one line, truncated between words to at most `limit` characters."""
    text = squeeze(text)
    if len(text) <= limit:
        return text
    cut = text[: limit - 1].rpartition(" ")[0] or text[: limit - 1]
    return f"{cut.rstrip(' ,;:.–—-')}…"
