"""What of a text may be shown: Markdown without raw HTML, images, dangerous links and invisible characters. Pure.

An answer is written by a model from documents that anybody may have written, and shown by clients that may turn
Markdown into HTML, or put it into a page as it is. After cleaning
- control, bidirectional and invisible characters are gone (line breaks and tabs stay);
- `<` never begins a tag, a comment or an autolink: a space stands behind it;
- there are no images: `![` is parted, and the address is gone, as fetching it would tell its server what was said;
- the target of a link is an http(s) or mail address or a telephone number; another one with a scheme is gone, and what
  names no scheme is text;
- there are no reference definitions (`[x]: address`), so that no target can be given elsewhere.

Words are never changed, and a clean text stays as it is. However a text is cut into pieces, the outcome is the same.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from shared.text.urls import well_formed

#: Longest target of a link that is looked at, in characters, and how many parentheses may be open in it.
_LONGEST, _DEEPEST = 2048, 8
#: A long text is read in pieces of so many characters, as each step copies what is left of one.
_PIECE = 1024
_INVISIBLE = (
    *((0x00, 0x08), (0x0E, 0x1F), (0x7F, 0x84), (0x86, 0x9F)),  # control characters but white space; \r is below
    *((0x061C, 0x061C), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
    *((0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F)),
)
_SEPARATORS = "\x0b\x0c\x85\u2028\u2029"
_TABLE: dict[int, str | None] = {code: None for first, last in _INVISIBLE for code in range(first, last + 1)}
_TABLE |= {ord("\r"): None, **{ord(one): " " for one in _SEPARATORS}}
_UNSHOWN = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _INVISIBLE) + f"\r{_SEPARATORS}]"
)
_SPECIAL = re.compile(r"[<!\[\]\n]")
_SUSPECT = re.compile(r"<[A-Za-z/!?]|!\[|\]\(|\]:")
_TAG = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")
#: What may stand before the text of a line: quotes and lists.
_CONTAINERS = " \t>*+-0123456789.)"
_BOUND = re.compile(r"[()]|\n[ \t]*\n")
_TARGET = re.compile(r"\s?<?((?i:https?://|mailto:|tel:)[^\s<>\[\]\\\"`]+)>?(?:\s+\"[^\"<>\[\]\n]*\")?\s?")
_MAIL_OR_PHONE = re.compile(r"(?i:mailto:)[^\s<>\\\"`]+@[^\s<>\\\"`]+|(?i:tel:)\+?[\d().-]+")
_SCHEME = re.compile(
    r"[\s<]*(?:[a-z][a-z0-9+.-]*:\S|[^\s/]*(?:&#?\w|\\|%3a)|(?:java|vb|live)?script\W{0,9}:|data\W{0,9}:)",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """The text without control, bidirectional and invisible characters, as a terminal may show it."""
    return text.translate(_TABLE) if _UNSHOWN.search(text) else text


def escaped(text: str) -> str:
    """JSON with such characters written as escapes, so that it can be printed and still says the same."""
    return _UNSHOWN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def clean(text: str) -> str:
    """The text as it may be shown."""
    text = visible(text)
    if not _SUSPECT.search(text):
        return text
    cleaner = Cleaner()
    parts = [cleaner.feed(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE)]
    return "".join(parts) + cleaner.finish()


def cleaned(value: Any) -> Any:
    """Structured data with every text in it clean; under the key `url` (or `..._url`) only what a link may lead to."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        shown: dict[str, Any] = {}
        for key, one in value.items():
            name, leads_somewhere = _name(str(key))
            shown[name] = _address(one) if leads_somewhere else cleaned(one)
        return shown
    if isinstance(value, list | tuple):
        return [cleaned(one) for one in value]
    return value


@lru_cache(maxsize=512)
def _name(key: str) -> tuple[str, bool]:
    """A key as it may be shown, and whether its value is an address; the same few keys come in every answer."""
    return clean(key), key == "url" or key.endswith("_url")


def _address(value: Any) -> Any:
    if isinstance(value, str):
        return value if _allowed(value) and not _UNSHOWN.search(value) else ""
    return cleaned(value)


class Cleaner:
    """Cleans a text that comes in pieces; gives back what can be shown, holding back only the target of a link."""

    def __init__(self) -> None:
        self._held = ""
        #: The special character that was shown last, if nothing has been since.
        self._last = ""
        #: For every bracket that is open, and for the one that was closed last, whether it is an image's.
        self._open: list[bool] = []
        self._image = False
        self._line_begins = True
        self._blank = True
        #: The paragraph may be a reference definition.
        self._defining = False

    def feed(self, piece: str) -> str:
        """What of the piece, and of what was held back before it, can be shown now."""
        return self._read(visible(piece), last=False)

    def finish(self) -> str:
        """What is left to be shown."""
        return self._read("", last=True)

    def rest(self) -> str:
        """What `finish` would give; nothing changes."""
        other = Cleaner()
        other.__dict__ |= {**self.__dict__, "_open": list(self._open)}
        return other.finish()

    def _read(self, piece: str, *, last: bool) -> str:
        self._held += piece
        out: list[str] = []
        while self._held:
            shown = self._target(last=last) if self._last == "]" and self._held[0] == "(" else self._next()
            if shown is None:
                break
            out.append(shown)
        return "".join(out)

    def _next(self) -> str:
        """The text up to the next special character, or that character, apart from what it must not follow."""
        one, before = self._held[0], self._last
        parted = (
            (before == "<" and one in _TAG)
            or (before == "!" and one == "[")
            or (before == "]" and one == ":" and self._defining)
        )
        special = _SPECIAL.search(self._held)
        if special is None or special.start():
            self._last = ""
            return " " * parted + self._pass(self._take(special.start() if special else len(self._held)))
        self._last = one
        if one == "\n":
            if self._blank:
                self._open, self._defining = [], False
            self._line_begins = self._blank = True
        else:
            self._brackets(one, image=before == "!")
            self._line_begins = self._blank = False
        return " " * parted + self._take(1)

    def _pass(self, plain: str) -> str:
        """Take note of text without anything special in it."""
        self._line_begins = self._line_begins and not plain.strip(_CONTAINERS)
        self._blank = self._blank and not plain.strip()
        return plain

    def _brackets(self, one: str, *, image: bool) -> None:
        if one == "[":
            self._defining = self._defining or self._line_begins
            self._open = [*self._open[-63:], image]
        elif one == "]":
            self._image = self._open.pop() if self._open else False

    def _target(self, *, last: bool) -> str | None:
        """What is shown of a target, or of what looks like one; None while its end is not known."""
        end = _closing(self._held, last=last)
        if end is None:
            return None
        target = self._held[1 : end - 1] if end else ""
        link = _TARGET.fullmatch(target)
        if end and not self._image and link and _allowed(link[1]):
            self._take(end)
            self._last = ""
            return f"({link[1]})"
        if end and (self._image or _SCHEME.match(target)):
            # It is gone; what follows may be another target.
            self._take(end)
            self._image = False
            return ""
        self._last = ""
        return f" {self._take(1)}"

    def _take(self, length: int) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return taken


def _allowed(url: str) -> bool:
    return bool(_MAIL_OR_PHONE.fullmatch(url)) or well_formed(url)


def _closing(text: str, *, last: bool) -> int | None:
    """The end of the parenthesis that the text begins with; 0: it is not closed, None: that is not known yet."""
    depth = 0
    for bound in _BOUND.finditer(text, 0, _LONGEST):
        depth += {"(": 1, ")": -1}.get(bound[0], _DEEPEST)
        if depth > _DEEPEST:
            return 0
        if not depth:
            return bound.end()
    return 0 if last or len(text) >= _LONGEST else None
