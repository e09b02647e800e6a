"""Folding: however a phrase is written, its letters come out the same. Pure, and linear in the text.

A folded text has only letters (without accents, in small form, look-alikes of other scripts as Latin ones) and
digits, in words between single spaces, with a space at either end. `readings` gives further texts for what hides in
other ways: digits for letters, letters spaced out or drawn out, encoded payloads.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote

#: Letters of other scripts, and after each the Latin one it looks like (see the confusables of Unicode TS 39).
_PAIRS = """аa вb еe іi јj кk мm нh оo рp сc ѕs тt уy хx ԁd ԛq ԝw һh ӏl ɡg ɑa οo αa ρp εe νv ιi κk τt υu χx ωw βb µu ıi
    øo łl đd ħh ɩi ʀr ʏy"""
_LOOK_ALIKES = {pair[0]: pair[1] for pair in _PAIRS.split()}
_APOSTROPHES = "'’ʼ`´‘"
#: In English what follows belongs to the word (don't, you're); in French what stands before is a word (l'arme).
_CONTRACTED = re.compile(rf"(?<=\w)[{_APOSTROPHES}](?=(?:t|s|m|d|re|ll|ve)\b)", re.IGNORECASE)
_JOINED = {ord(mark): "" for mark in "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e"}

_LEET = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "l"}
)
#: A word with a letter and with a sign that may stand for one (`!` not at its end).
_LEET_WORD = re.compile(
    r"(?<![\w@$!|])(?=[\w@$!|]{0,24}?[a-z])(?=[\w@$!|]{0,24}?(?:[013457@$|]|!\w))[\w@$!|]{2,25}(?![\w@$|])"
)
_DRAWN = re.compile(r"([a-z])\1\1+")
_SPACED = re.compile(r"(?<= )[a-z](?: [a-z]){2,}(?= )")
_ENCODED = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}={0,2}(?![\w+/=])")
#: Encoded text is read this far: enough to see what it is, and it bounds the work.
_LONGEST_PAYLOAD = 4000


class _Letters(dict[int, str]):
    """A character -> its folded letters, found once each; what is neither letter nor digit is a space."""

    _MOST = 50_000

    def __missing__(self, code: int) -> str:
        folded: str = "".join(_letter(one) for one in unicodedata.normalize("NFKD", chr(code)).casefold())
        if len(self) < self._MOST:
            self[code] = folded
        return folded


def _letter(character: str) -> str:
    if character in _LOOK_ALIKES:
        return _LOOK_ALIKES[character]
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return ""
    return character if category[0] in "LN" or category == "Mc" else " "


_LETTERS = _Letters(_JOINED)


def fold(text: str) -> str:
    """The folded text."""
    return f" {' '.join(_CONTRACTED.sub('', text).translate(_LETTERS).split())} "


def origins(text: str) -> list[int]:
    """For every character of `fold(text)`, where in `text` it comes from."""
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
class Reading:
    """A way to read a text: folded letters, and the piece of the text that they were read from.

    `source` is as long as the text and folds to `folded`, so that `origins(source)` places every letter; None where
    only the piece is known. `run` marks letters that were spaced out: it is not known where their words begin and end.
    """

    folded: str
    start: int
    end: int
    source: str | None = None
    run: bool = False


def readings(text: str) -> Iterator[Reading]:
    """The text as it stands, then every other way to read it that there is a reason for."""
    end = len(text)
    folded = fold(text)
    yield Reading(folded, 0, end, source=text)
    plain = text.lower()
    if _LEET_WORD.search(plain):
        for one in (plain, plain.replace("1", "l")) if "1" in plain else (plain,):
            leet = _LEET_WORD.sub(_unleet, one)
            if leet != plain:
                yield Reading(fold(leet), 0, end, source=leet if len(leet) == end else None)
    if _DRAWN.search(folded):
        yield Reading(_DRAWN.sub(r"\1", folded), 0, end)
        yield Reading(_DRAWN.sub(r"\1\1", folded), 0, end)
    if _SPACED.search(folded):
        yield Reading(_SPACED.sub(lambda run: run[0].replace(" ", ""), folded), 0, end)
        for run in _SPACED.finditer(folded):
            yield Reading(run[0].replace(" ", ""), 0, end, run=True)
    for begin, stop, payload in decoded(text):
        yield Reading(fold(payload), begin, stop)


def _unleet(word: re.Match[str]) -> str:
    """A word that is mostly letters, read as letters; `T4A-2024` and `a55` stay what they are."""
    letters = sum(character.isalpha() for character in word[0])
    return word[0].translate(_LEET) if letters * 2 >= len(word[0].rstrip("!")) and letters > 1 else word[0]


def decoded(text: str) -> Iterator[tuple[int, int, str]]:
    """Payloads in base64, percent signs and HTML entities, decoded once: start, end and what they say."""
    for found in _ENCODED.finditer(text):
        said = _from_base64(found[0][:_LONGEST_PAYLOAD])
        if said:
            yield found.start(), found.end(), said
    if text.count("%") > 2 and (plain := unquote(text, errors="replace")) != text:
        yield 0, len(text), plain
    if "&#" in text:
        yield 0, len(text), html.unescape(text)


def _from_base64(payload: str) -> str:
    """What the letters say in base64; empty when that is no text."""
    body = payload.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        said = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
    fair = sum(character.isalnum() or character.isspace() for character in said if character != "\ufffd")
    return said if fair >= 0.8 * len(said) and any(map(str.isspace, said)) else ""


def spaced_out(text: str) -> int:
    """The longest run of letters that stand alone, unless they are the alphabet."""
    runs = (run[0].replace(" ", "") for run in _SPACED.finditer(text))
    return max((len(run) for run in runs if not _in_order(run)), default=0)


def _in_order(run: str) -> bool:
    return all(ord(after) - ord(before) in (0, 1) for before, after in pairwise(run))
