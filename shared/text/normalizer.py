"""Normalization of text for matching: differently written phrases become the same letters. Pure, linear in the text.

A normalized text has only letters (lower case, without accents, look-alikes of other scripts as Latin letters) and
digits, in words between single spaces, with a space at either end. `normalized_texts` gives further variants of a text
that undo other disguises: digits for letters, spaced-out or repeated letters, encoded payloads.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

#: Letters of other scripts, each followed by the Latin letter it looks like (see the confusables of Unicode TS 39).
_PAIRS = """аa вb еe іi јj кk мm нh оo рp сc ѕs тt уy хx ԁd ԛq ԝw һh ӏl ɡg ɑa οo αa ρp εe νv ιi κk τt υu χx ωw βb µu ıi
    øo łl đd ħh ɩi ʀr ʏy"""
_LOOK_ALIKES = {pair[0]: pair[1] for pair in _PAIRS.split()}
_APOSTROPHES = "'’ʼ`´‘"
#: English contractions are one word (don't, you're); French elisions are two words (l'arme).
_CONTRACTED = re.compile(rf"(?<=\w)[{_APOSTROPHES}](?=(?:t|s|m|d|re|ll|ve)\b)", re.IGNORECASE)
_IGNORED = {ord(mark): "" for mark in "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e"}

_LEET = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "l"}
)
#: A word with a letter and with a digit or sign that may stand for a letter (`!` not at its end).
_LEET_WORD = re.compile(
    r"(?<![\w@$!|])(?=[\w@$!|]{0,24}?[a-z])(?=[\w@$!|]{0,24}?(?:[013457@$|]|!\w))[\w@$!|]{2,25}(?![\w@$|])"
)
_REPEATED = re.compile(r"([a-z])\1\1+")
_SPACED = re.compile(r"(?<= )[a-z](?: [a-z]){2,}(?= )")
_ENCODED = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}={0,2}(?![\w+/=])")
#: Characters of an encoded payload that are decoded: enough to recognise it, and a bound on the work.
_LONGEST_PAYLOAD = 4000


class _Letters(dict[int, str]):
    """Maps a character to its normalized letters, cached; anything but letters and digits becomes a space."""

    _MOST = 50_000

    def __missing__(self, code: int) -> str:
        normalized: str = "".join(_letter(char) for char in unicodedata.normalize("NFKD", chr(code)).casefold())
        if len(self) < self._MOST:
            self[code] = normalized
        return normalized


def _letter(character: str) -> str:
    if character in _LOOK_ALIKES:
        return _LOOK_ALIKES[character]
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return ""
    return character if category[0] in "LN" or category == "Mc" else " "


_LETTERS = _Letters(_IGNORED)


def normalize(text: str) -> str:
    """The normalized text."""
    return f" {' '.join(_CONTRACTED.sub('', text).translate(_LETTERS).split())} "


def source_offsets(text: str) -> list[int]:
    """For each character of `normalize(text)`, the offset in `text` that it comes from."""
    places = []
    dropped = {mark.start() for mark in _CONTRACTED.finditer(text)}
    in_word = False
    for place, character in enumerate(text):
        for letter in "" if place in dropped else character.translate(_LETTERS):
            if letter == " ":
                in_word = False
                continue
            if not in_word:
                places.append(place)  # the space before the word
            in_word = True
            places.append(place)
    return [*places, len(text)] if places else [0, len(text)]


@dataclass(frozen=True)
class NormalizedText:
    """One normalized form of a text, and the part of the text, `start` to `end`, that it was made from.

    `source` is as long as the text and normalizes to `normalized`, so that `source_offsets(source)` gives the offset of
    each letter; None where only the part is known. `run` marks spaced-out letters joined to one word: the boundaries of
    their words are not known.
    """

    normalized: str
    start: int
    end: int
    source: str | None = None
    run: bool = False


@lru_cache(maxsize=8)  # several checks read the same question, one after another
def normalized_texts(text: str) -> tuple[NormalizedText, ...]:
    """The normalized text, then its variants for each kind of disguise that the text shows signs of."""
    return tuple(_variants(text))


def _variants(text: str) -> Iterator[NormalizedText]:
    end = len(text)
    normalized = normalize(text)
    yield NormalizedText(normalized, 0, end, source=text)
    plain = text.lower()
    if _LEET_WORD.search(plain):
        for spelling in (plain, plain.replace("1", "l")) if "1" in plain else (plain,):
            leet = _LEET_WORD.sub(_unleet, spelling)
            if leet != plain:
                yield NormalizedText(normalize(leet), 0, end, source=leet if len(leet) == end else None)
    if _REPEATED.search(normalized):
        yield NormalizedText(_REPEATED.sub(r"\1", normalized), 0, end)
        yield NormalizedText(_REPEATED.sub(r"\1\1", normalized), 0, end)
    if _SPACED.search(normalized):
        yield NormalizedText(_SPACED.sub(lambda run: run[0].replace(" ", ""), normalized), 0, end)
        for run in _SPACED.finditer(normalized):
            yield NormalizedText(run[0].replace(" ", ""), 0, end, run=True)
    for begin, stop, payload in decoded_payloads(text):
        yield NormalizedText(normalize(payload), begin, stop)


def _unleet(word: re.Match[str]) -> str:
    """Replaces digits and signs by letters in a word that is mostly letters; `T4A-2024` and `a55` stay as they are."""
    letters = sum(character.isalpha() for character in word[0])
    return word[0].translate(_LEET) if letters * 2 >= len(word[0].rstrip("!")) and letters > 1 else word[0]


def decoded_payloads(text: str) -> Iterator[tuple[int, int, str]]:
    """Payloads in base64, percent encoding and HTML entities, decoded once: start, end and decoded text."""
    for found in _ENCODED.finditer(text):
        payload = _from_base64(found[0][:_LONGEST_PAYLOAD])
        if payload:
            yield found.start(), found.end(), payload
    if text.count("%") > 2 and (plain := unquote(text, errors="replace")) != text:
        yield 0, len(text), plain
    if "&#" in text:
        yield 0, len(text), html.unescape(text)


def _from_base64(payload: str) -> str:
    """The text that the payload encodes in base64; empty when the decoded bytes are not text."""
    body = payload.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        decoded = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
    readable = sum(character.isalnum() or character.isspace() for character in decoded if character != "\ufffd")
    return decoded if readable >= 0.8 * len(decoded) and any(map(str.isspace, decoded)) else ""


def spaced_out(text: str) -> int:
    """The length of the longest run of spaced-out letters that is not a part of the alphabet."""
    runs = (run[0].replace(" ", "") for run in _SPACED.finditer(text))
    return max((len(run) for run in runs if not _in_order(run)), default=0)


def _in_order(run: str) -> bool:
    return all(ord(after) - ord(before) in (0, 1) for before, after in pairwise(run))
