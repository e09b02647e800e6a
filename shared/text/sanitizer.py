"""Sanitizes Markdown for display: no raw HTML, images, dangerous links or invisible characters. Pure.

Models write answers from untrusted documents, and clients may render them as Markdown or insert them into a page as
they are. In a sanitized text
- control, bidirectional and invisible characters are removed (line breaks and tabs stay);
- `<` never begins a tag, a comment or an autolink, because a space is inserted after it;
- `![` is separated by a space and the address of an image removed, because fetching it would leak data;
- link targets are http(s) or mail addresses or telephone numbers; targets with another scheme are removed, and targets
  without a scheme become plain text;
- reference definitions (`[x]: address`) are broken up, so that a target cannot be defined elsewhere.

Words are never changed, and a sanitized text stays as it is. The result does not depend on how a text is split into
pieces.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from shared.text.urls import well_formed

#: Limits of a link target: its length in characters, and its depth of nested parentheses.
_LONGEST, _DEEPEST = 2048, 8
#: Characters of the pieces in which a long text is processed, because each step copies the rest of its piece.
_PIECE = 1024
_INVISIBLE = (
    *((0x00, 0x08), (0x0E, 0x1F), (0x7F, 0x84), (0x86, 0x9F)),  # control characters but white space; \r is below
    *((0x061C, 0x061C), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
    *((0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE01EF)),
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x115F, 0x1160), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),  # drawn as nothing
    (0xFE00, 0xFE0F),  # variation selectors, which can carry hidden bytes
)
_SEPARATORS = "\x0b\x0c\x85\u2028\u2029"
_TABLE: dict[int, str | None] = {code: None for first, last in _INVISIBLE for code in range(first, last + 1)}
_TABLE |= {ord("\r"): None, **{ord(char): " " for char in _SEPARATORS}}
_UNSHOWN = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _INVISIBLE) + f"\r{_SEPARATORS}]"
)
_SPECIAL = re.compile(r"[<!\[\]\n]")
_SUSPECT = re.compile(r"<[A-Za-z/!?]|!\[|\]\(|\]:")
_TAG = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")
#: Characters that may precede the text of a line: markers of quotes and lists.
_CONTAINERS = " \t>*+-0123456789.)"
_BOUND = re.compile(r"[()]|\n[ \t]*\n")
_TARGET = re.compile(r"\s?<?((?i:https?://|mailto:|tel:)[^\s<>\[\]\\\"`]+)>?(?:\s+\"[^\"<>\[\]\n]*\")?\s?")
_MAIL_OR_PHONE = re.compile(r"(?i:mailto:)[^\s<>\\\"`][^\s<>\\\"`@]*+@[^\s<>\\\"`]++|(?i:tel:)\+?[\d().-]+")
_SCHEME = re.compile(
    r"[\s<]*+(?:[a-z][a-z0-9+.-]*:\S|[^\s/]*(?:&#?\w|\\|%3a)|(?:java|vb|live)?script\W{0,9}:|data\W{0,9}:)",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """The text without control, bidirectional and invisible characters, safe to print on a terminal."""
    return text.translate(_TABLE) if _UNSHOWN.search(text) else text


def escaped(text: str) -> str:
    """JSON with these characters as escape sequences, so that it can be printed and has the same meaning."""
    return _UNSHOWN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def clean(text: str) -> str:
    """The sanitized text."""
    text = visible(text)
    if not _SUSPECT.search(text):
        return text
    cleaner = Cleaner()
    parts = [cleaner.feed(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE)]
    return "".join(parts) + cleaner.finish()


def cleaned(value: Any) -> Any:
    """Structured data with every text sanitized; disallowed values of `url` and `..._url` become empty."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        sanitized: dict[str, Any] = {}
        for key, entry in value.items():
            name, is_url = _name(str(key))
            sanitized[name] = _address(entry) if is_url else cleaned(entry)
        return sanitized
    if isinstance(value, list | tuple):
        return [cleaned(entry) for entry in value]
    return value


@lru_cache(maxsize=512)
def _name(key: str) -> tuple[str, bool]:
    """The sanitized key, and whether its value is a URL; cached, because the same keys recur in every answer."""
    return clean(key), key == "url" or key.endswith("_url")


def _address(value: Any) -> Any:
    if isinstance(value, str):
        return value if _allowed(value) and not _UNSHOWN.search(value) else ""
    return cleaned(value)


class Cleaner:
    """Sanitizes a streamed text piece by piece; only an incomplete link target is held back."""

    def __init__(self) -> None:
        self._held = ""
        #: The special character at the end of the output so far, if there is one.
        self._last = ""
        #: For each open bracket, and for the one closed last, whether it belongs to an image.
        self._open: list[bool] = []
        self._image = False
        self._line_begins = True
        self._blank = True
        #: Whether the paragraph may be a reference definition.
        self._defining = False

    def feed(self, piece: str) -> str:
        """Add a piece; returns the sanitized text that is complete now."""
        return self._read(visible(piece), last=False)

    def finish(self) -> str:
        """End the text; returns the rest."""
        return self._read("", last=True)

    def rest(self) -> str:
        """What `finish` would return, without changing the state."""
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
        """The text up to the next special character, or that character, after a space where one is needed."""
        special_char, before = self._held[0], self._last
        parted = (
            (before == "<" and special_char in _TAG)
            or (before == "!" and special_char == "[")
            or (before == "]" and special_char == ":" and self._defining)
        )
        special = _SPECIAL.search(self._held)
        if special is None or special.start():
            self._last = ""
            return " " * parted + self._pass(self._take(special.start() if special else len(self._held)))
        self._last = special_char
        if special_char == "\n":
            if self._blank:
                self._open, self._defining = [], False
            self._line_begins = self._blank = True
        else:
            self._brackets(special_char, image=before == "!")
            self._line_begins = self._blank = False
        return " " * parted + self._take(1)

    def _pass(self, plain: str) -> str:
        """Update the state for text without special characters."""
        self._line_begins = self._line_begins and not plain.strip(_CONTAINERS)
        self._blank = self._blank and not plain.strip()
        return plain

    def _brackets(self, bracket: str, *, image: bool) -> None:
        if bracket == "[":
            self._defining = self._defining or self._line_begins
            self._open = [*self._open[-63:], image]
        elif bracket == "]":
            self._image = self._open.pop() if self._open else False

    def _target(self, *, last: bool) -> str | None:
        """The sanitized link target, or text that looks like one; None while its end is not known."""
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
            # The target is removed; another one may follow.
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
    """The end of the parenthesis at the beginning of the text; 0: it is not closed, None: not known yet."""
    depth = 0
    for bound in _BOUND.finditer(text, 0, _LONGEST):
        depth += {"(": 1, ")": -1}.get(bound[0], _DEEPEST)
        if depth > _DEEPEST:
            return 0
        if not depth:
            return bound.end()
    return 0 if last or len(text) >= _LONGEST else None
