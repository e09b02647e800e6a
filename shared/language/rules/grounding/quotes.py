"""Whether passages have a sentence word for word. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shared.contracts.domain import Passage
from shared.language.analysis import words
from shared.language.citations import plain
from shared.language.polarity import polarity
from shared.language.rules.grounding.words import CONDITION, DENIAL_AT_END


def quoted(sentence: str, passages: Iterable[Passage]) -> bool:
    """Whether a passage has the sentence word for word, on word boundaries."""
    wanted = plain(sentence)
    return bool(words(sentence)) and any(_contains(plain(passage.text), wanted) for passage in passages)


def quoted_whole(said: str, passages: Sequence[Passage]) -> bool:
    """Whether a passage has the sentence word for word, and nothing around it in its sentence that may turn it
    round."""
    if not quoted(said, passages):
        return False
    wanted = plain(said)
    for passage in passages:
        text = plain(passage.text)
        at = text.find(wanted)
        while at >= 0:
            before = re.split(r"[.!?]\s", text[max(0, at - 200) : at])[-1]
            after = re.split(r"[.!?](?:\s|$)", text[at + len(wanted) : at + len(wanted) + 200])[0]
            whole = not before.strip(" -*|>#\"'`") and (wanted[-1:] in ".!?" or not after.strip(" -*|\"'`"))
            around = polarity(f"{before}, {after}", "eng")
            if whole or not (around.negations or around.negative_words or _conditional(f"{before} {after}")):
                return True
            at = text.find(wanted, at + 1)
    return False


def _conditional(text: str) -> bool:
    return bool(CONDITION.search(text)) or bool(DENIAL_AT_END.search(text))


def _contains(text: str, wanted: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_within_word(text, at) or _within_word(text, end)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _within_word(text: str, at: int) -> bool:
    """Whether position `at` lies within a word of a script that puts spaces between words."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() and text[at - 1 : at + 1].isascii()
