"""Parser of the JSON form: one object whose `answer` is shown while it is written. Pure.

    {"answer": "It is free. [1]", "confidence": 8, "citation_head": "Fees", "citation_url": "https://…",
     "not_found": false, "scope": "", "clarifying_question": ""}

A completion that does not begin with an object (or a code fence before one) is parsed as the tag form instead.
"""

from __future__ import annotations

import json
import re
from string import hexdigits
from typing import Any

from services.answer.output_parsers.parser import (
    FIELD_CHARS,
    OutputParser,
    ParsedOutput,
    TextPiece,
    VisibleText,
    parse_clarification,
    parse_confidence,
)
from services.answer.output_parsers.tags import SCOPES, TagParser

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", '"': '"', "\\": "\\", "/": "/"}
_PLAIN = re.compile(r'[^"\\{}\[\],:]+')
_OPENING = re.compile(r"(?:```[a-z]*\s*)?")
#: An object must begin within so many characters after a code fence.
_FENCE_CHARS = 40


class JsonParser:
    """Plays `OutputParser` for the JSON form."""

    def __init__(self) -> None:
        self._raw: list[str] = []
        self._opening = ""
        self._begun = False
        self._other: OutputParser | None = None
        self._visible = VisibleText()
        self._scanner = _Scanner()

    def feed(self, piece: str) -> list[TextPiece]:
        if self._other:
            return self._other.feed(piece)
        if self._begun:
            return self._scan(piece)
        self._opening += piece
        return self._begin(last=False)

    def finish(self) -> tuple[list[TextPiece], ParsedOutput]:
        shown = [] if self._begun or self._other else self._begin(last=True)
        if not self._other:
            return shown, self._written()
        rest, written = self._other.finish()
        return [*shown, *rest], written

    def _begin(self, *, last: bool) -> list[TextPiece]:
        """Finds where the object begins; without one, switches to the tag form."""
        head = self._opening.lstrip()
        opening = _OPENING.match(head)
        assert opening is not None
        rest = head[opening.end() :]
        if rest.startswith("{"):
            self._begun = True
            return self._scan(rest)
        fencing = not head or (head.startswith("`") and not rest.strip("`") and len(head) < _FENCE_CHARS)
        if fencing and not last:
            return []
        self._other = TagParser()
        return self._other.feed(self._opening)

    def _scan(self, text: str) -> list[TextPiece]:
        self._raw.append(text)
        part = self._visible.add("".join(self._scanner.feed(text)))
        return [part] if part else []

    def _written(self) -> ParsedOutput:
        found = _object("".join(self._raw))
        asked, options = parse_clarification(_text(found.get("clarifying_question")))
        listed = found.get("options")
        if isinstance(listed, list) and listed:
            options = tuple(str(one)[:200] for one in listed[:8])
        text = self._visible.text
        scope = _text(found.get("scope"))
        return ParsedOutput(
            text=text,
            clarification="" if text else asked,
            options=options if asked and not text else (),
            citation_head=_text(found.get("citation_head")),
            citation_url=_text(found.get("citation_url")),
            confidence=parse_confidence(str(found.get("confidence", ""))),
            scope=scope if scope in SCOPES else "",
            not_found=found.get("not_found") is True,
            tagged=True,
        )


class _Scanner:
    """Scans an object and returns the decoded text of its top-level `answer` as it comes."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escape = ""
        self._high = ""
        self._is_key = False
        self._string = ""
        self._key = ""
        self._done = False

    def feed(self, text: str) -> list[str]:
        out: list[str] = []
        at = 0
        while at < len(text):
            plain = None if self._escape else _PLAIN.match(text, at)
            if plain:
                if self._in_string:
                    self._take(plain[0], out)
                at = plain.end()
                continue
            self._step(text[at], out)
            at += 1
        return out

    def _step(self, char: str, out: list[str]) -> None:
        if self._in_string:
            self._in_text(char, out)
        elif char == '"':
            self._in_string, self._string = True, ""
        elif char in "{[":
            self._depth += 1
            self._is_key = char == "{" and self._depth == 1
        elif char in "}]":
            self._depth -= 1
        elif char == ":" and self._depth == 1:
            self._is_key = False
        elif char == "," and self._depth == 1:
            self._is_key, self._key = True, ""

    def _in_text(self, char: str, out: list[str]) -> None:
        if self._escape:
            self._unescape(char, out)
        elif char == "\\":
            self._escape = char
        elif char == '"':
            self._end(out)
        else:
            self._take(char, out)

    def _unescape(self, char: str, out: list[str]) -> None:
        self._escape += char
        if self._escape[1] == "u":
            if len(self._escape) < 6:
                return
            self._code(self._escape[2:], out)
        else:
            self._take(_ESCAPES.get(char, char), out)
        self._escape = ""

    def _code(self, digits: str, out: list[str]) -> None:
        # `int` alone also reads signs, spaces and underscores.
        code = int(digits, 16) if all(digit in hexdigits for digit in digits) else 0xFFFD
        if 0xD800 <= code < 0xDC00:
            self._lone(out)
            self._high = chr(code)
        elif 0xDC00 <= code < 0xE000:
            high, self._high = self._high, ""
            joined = chr(0x10000 + ((ord(high) - 0xD800) << 10) + (code - 0xDC00)) if high else "\ufffd"
            self._take(joined, out)
        else:
            self._take(chr(code), out)

    def _lone(self, out: list[str]) -> None:
        """Replaces half a surrogate pair whose other half is missing."""
        if self._high:
            self._high = ""
            self._take("\ufffd", out)

    def _take(self, text: str, out: list[str]) -> None:
        if self._high:
            self._lone(out)
        if self._is_key:
            self._string += text[:FIELD_CHARS]
        elif self._key == "answer" and self._depth == 1 and not self._done:
            out.append(text)

    def _end(self, out: list[str]) -> None:
        self._lone(out)
        self._in_string = False
        if self._is_key and self._depth == 1:
            self._key = self._string
        elif self._key == "answer" and self._depth == 1:
            self._done = True


def _object(raw: str) -> dict[str, Any]:
    """The first object of a completion; empty if there is none that can be parsed."""
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(raw, raw.index("{"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value.strip()[:FIELD_CHARS] if isinstance(value, str) else ""
