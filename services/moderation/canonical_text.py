"""The canonical form of a text: the same question typed in different ways becomes the same text. Pure."""

from __future__ import annotations

import re
import unicodedata

#: Control, format (bidirectional marks, zero-width spaces, soft hyphens), surrogate and private characters.
_DROPPED = frozenset(["Cc", "Cf", "Cs", "Co"])
#: Joiners are needed in Persian, Hindi and emoji; between Latin letters and digits they only hide text from checks.
_JOINERS = "\u200c\u200d"
_HIDING_JOINER = re.compile(r"(?<=[\x00-\x7f])[\u200c\u200d]++|(?<![\u200c\u200d])[\u200c\u200d]++(?=[\x00-\x7f])")


def canonicalize(text: str) -> str:
    """Returns the text in NFC, without invisible characters, with every run of white space as one space."""
    if not (text.isascii() and text.isprintable()):
        text = unicodedata.normalize("NFC", text)
        dropped = {
            character
            for character in set(text)
            if unicodedata.category(character) in _DROPPED and character not in _JOINERS and not character.isspace()
        }
        if dropped:
            text = text.translate(dict.fromkeys(map(ord, dropped)))
        text = _HIDING_JOINER.sub("", text)
    return " ".join(text.split())
