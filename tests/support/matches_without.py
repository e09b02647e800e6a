"""What a regular expression matches without any of certain words: an exhaustive search, not a sample."""

from __future__ import annotations

import re._constants as codes  # type: ignore[import-untyped]
import re._parser as parser  # type: ignore[import-untyped]
from collections.abc import Callable, Iterable
from typing import Any

#: Stands for a character of a class, which is in none of the words.
_OTHER = "\N{CURRENCY SIGN}"

#: The first word of a text, its last, and whether there is a space between them: all that decides which words arise
#: when texts are joined. To each belongs the shortest text that has it.
_Texts = dict[tuple[str, str, bool], str]


def matches_without(pattern: str, excluded: Callable[[str], bool]) -> list[str]:
    """Examples of what `pattern` matches although no whole word is `excluded`; empty if there are none.

    Every alternative is followed. Of repetitions the smallest number is tried, and one more; assertions always hold, so
    an example may be one that they forbid. Words are separated by single spaces, as in normalized text.
    """
    texts = _sequence(parser.parse(pattern), excluded)
    return sorted(text for (first, last, _), text in texts.items() if not excluded(first) and not excluded(last))


def _sequence(nodes: Iterable[tuple[Any, Any]], excluded: Callable[[str], bool]) -> _Texts:
    texts: _Texts = {("", "", False): ""}
    for node in nodes:
        joined: _Texts = {}
        after = _node(*node, excluded)
        for left, before in texts.items():
            for right, behind in after.items():
                ends = _joined(left, right, excluded)
                text = before + behind
                if ends is not None and (ends not in joined or len(text) < len(joined[ends])):
                    joined[ends] = text
        texts = joined
    return texts


def _joined(
    left: tuple[str, str, bool], right: tuple[str, str, bool], excluded: Callable[[str], bool]
) -> tuple[str, str, bool] | None:
    """The ends of two texts in a row; None if the word that arises between them is excluded."""
    (first, end, spaced), (begin, last, more) = left, right
    word = end + begin
    if spaced and more:
        return None if excluded(word) else (first, last, True)
    return (first if spaced else word), (last if more else word), spaced or more


def _node(code: Any, argument: Any, excluded: Callable[[str], bool]) -> _Texts:
    match code:
        case codes.LITERAL:
            return _literal(chr(argument))
        case codes.IN if all(kind is codes.LITERAL for kind, _ in argument):
            return {ends: text for _, letter in argument for ends, text in _literal(chr(letter)).items()}
        case codes.IN | codes.NOT_LITERAL | codes.ANY:
            return _literal(_OTHER)
        case codes.BRANCH:
            return {ends: text for branch in argument[1] for ends, text in _sequence(branch, excluded).items()}
        case codes.SUBPATTERN:
            return _sequence(argument[3], excluded)
        case codes.ATOMIC_GROUP:
            return _sequence(argument, excluded)
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            low, high, repeated = argument
            return _sequence(list(repeated) * low, excluded) | _sequence(list(repeated) * min(low + 1, high), excluded)
        case codes.ASSERT | codes.ASSERT_NOT | codes.AT:
            return {("", "", False): ""}
    raise NotImplementedError(f"{code} in a pattern of cues")


def _literal(letter: str) -> _Texts:
    return {("", "", True): " "} if letter == " " else {(letter, letter, False): letter}
