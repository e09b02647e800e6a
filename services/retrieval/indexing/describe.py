"""One line on what a document is about, for the index of sources."""

from __future__ import annotations

from services.retrieval.indexing.readers.parsed_document import ParsedDocument, squeeze
from shared.text.analysis import normalise, sentences

_CHARS = 160
#: A first sentence shorter than this says too little alone.
_ENOUGH = 60
_READ = 4000


def describe(readable: ParsedDocument, title: str) -> str:
    """What the document says it is, else its first sentences that are not its title, else its headings."""
    if readable.description:
        return shorten(readable.description)
    prose = [block for block in readable.blocks if block.kind in ("paragraph", "item", "record")]
    said = ""
    for block in prose[:20]:
        text = readable.text[block.start : min(block.end, block.start + _READ)]
        for start, end in sentences(text):
            sentence = squeeze(text[start:end])
            if normalise(sentence) != normalise(title):
                said = f"{said} {sentence}".strip()
            if len(said) >= _ENOUGH:
                return shorten(said)
    headings = (heading for block in readable.blocks for heading in block.headings if heading != title)
    return shorten(said or ", ".join(dict.fromkeys(headings)))


def shorten(text: str, limit: int = _CHARS) -> str:
    """The text on one line, cut between words to at most `limit` characters."""
    text = squeeze(text)
    if len(text) <= limit:
        return text
    cut = text[: limit - 1].rpartition(" ")[0] or text[: limit - 1]
    return f"{cut.rstrip(' ,;:.–—-')}…"
