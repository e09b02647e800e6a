"""A question as the rules compare it: what it asks for, its words of meaning, numbers, names, and words that turn it.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from services.retrieval.semantic_cache.grammar import Grammar
from services.retrieval.semantic_cache.grammar_english import ENGLISH
from services.retrieval.semantic_cache.grammar_french import FRENCH
from shared.text.analysis import fold, normalise, sentences, stems, stop_words

GRAMMARS: dict[str, Grammar] = {"eng": ENGLISH, "fra": FRENCH}
#: For other languages: nothing is known of the words, so nothing is left out and nothing is alike.
_NONE = Grammar()

#: COVID-19, B-12, and where the letters are capitals also COVID 19: one word.
_JOINED = re.compile(r"\b([^\W\d_]+)-(\d+)\b|\b([A-Z]{2,}) (\d+)\b")
#: Can't, cannot: two words.
_NOT = re.compile(r"(?<=[a-z])n['’]t\b|(?<=\bcan)not\b|(?<=\bCan)not\b")
_ASKED = re.compile(r"[?？؟]+")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_TOKEN = re.compile(r"[^\W_]+(?:\.[^\W_]\b)*")
#: An abbreviation after what it stands for.
_ASIDE = re.compile(r"\([A-Z][A-Za-z]*\)")
_SIGNS = {"%": "percent", "€": "euro", "$": "dollar", "£": "pound", "¥": "yen"}


@dataclass(frozen=True)
class Reading:
    """`content` maps stems of meaning to the words they stand for, in their order; `kinds` is what it asks for,
    `asked` how many questions it is made of.

    `sides` says, of each class of words that exclude each other, which were said; `roles` are (preposition, stem).
    """

    language: str
    words: tuple[str, ...]
    content: Mapping[str, str]
    kinds: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    asked: int
    negated: bool
    obliges: bool
    allows: bool
    passive: bool
    subject: str
    sides: Mapping[int, frozenset[int]]
    roles: Mapping[str, frozenset[str]]
    grammar: Grammar = field(repr=False)


def read(text: str, language: str) -> Reading:
    """The question; `language` is ISO 639-3."""
    grammar = GRAMMARS.get(language, _NONE)
    joined = _JOINED.sub(lambda found: f"{found[1] or found[3]}{found[2] or found[4]}", _NOT.sub(" not ", text))
    for sign, word in _SIGNS.items():
        joined = joined.replace(sign, f" {word} ")
    words = tuple(normalise(word) for word in _TOKEN.findall(joined))
    counted = (grammar.numerals.get(word, word) for word in words)
    numbers = frozenset(_NUMBER.findall(" ".join(word for word in counted if word[:1].isdigit())))
    content = _content(words, language, grammar)
    said = frozenset(words)
    return Reading(
        language=language,
        words=words,
        content=content,
        kinds=_kinds(joined, grammar),
        numbers=numbers,
        names=_names(joined, language),
        asked=len(_ASKED.findall(text)),
        negated=sum(word in grammar.negations for word in words) % 2 == 1,
        obliges=_has(words, grammar.obliging),
        allows=_has(words, grammar.allowing),
        passive=bool(said & grammar.passive),
        subject=_subject(words, language, grammar),
        sides=_sides(said.union(content), grammar),
        roles=_roles(words, content, language, grammar),
        grammar=grammar,
    )


@cache
def stem(word: str, language: str) -> str:
    """The word's stem; empty for a function word."""
    found = stems(word, language)
    return found[0] if found else ""


def _content(words: tuple[str, ...], language: str, grammar: Grammar) -> dict[str, str]:
    content: dict[str, str] = {}
    for word in words:
        if word[0].isdigit() or word in grammar.idle or word in grammar.auxiliaries | grammar.negations:
            continue
        found = stem(word, language)
        if found:
            content.setdefault(found, word)
    return content


def _kinds(text: str, grammar: Grammar) -> frozenset[str]:
    """What each of its sentences asks for, by its opening; a question within a sentence counts where none opens one."""
    parts = [normalise(text[start:end]) for start, end in sentences(text)]
    found = {kind for part in parts if (kind := _opening(_TOKEN.findall(part)[:6], grammar, anywhere=False))}
    if not found - {"whether"}:
        found |= {kind for part in parts if (kind := _opening(_TOKEN.findall(part), grammar, anywhere=True))}
    return frozenset(found)


def _opening(words: list[str], grammar: Grammar, *, anywhere: bool) -> str:
    for place in range(len(words) if anywhere else min(3, len(words))):
        here = " ".join(words[place : place + 3]) + " "
        for opening, kind in grammar.openings:
            if here.startswith(f"{opening} "):
                return kind
        if not anywhere and place == 0 and words[0] in grammar.auxiliaries:
            return "whether"
    return ""


def _names(text: str, language: str) -> frozenset[str]:
    """Words with a capital that does not only begin a sentence; none where most words have one."""
    text = _ASIDE.sub(lambda found: " " * len(found[0]), text)
    begins = {start for start, _ in sentences(text)}
    found = [(one.start(), one[0]) for one in _TOKEN.finditer(text)]
    capital = [(start, word) for start, word in found if word[0].isupper() and len(word) > 1]
    if len(capital) * 2 > len(found) + 2:
        return frozenset()
    dropped = stop_words(language)
    named = (word for start, word in capital if start not in begins or word.isupper())
    capitals = {word for start, word in capital if start not in begins and word.isupper()}
    return frozenset(normalise(word) for word in named if fold(word.lower()) not in dropped or word in capitals)


def _has(words: tuple[str, ...], phrases: frozenset[str]) -> bool:
    """Whether one of the words or pairs of neighbours is listed."""
    return not phrases.isdisjoint((*words, *map(" ".join, pairwise(words))))


def _subject(words: tuple[str, ...], language: str, grammar: Grammar) -> str:
    """Who does it, of a question with an auxiliary before the subject: a stem, or a pronoun as it is; perhaps none."""
    at = next((place for place, word in enumerate(words) if word in grammar.acting), len(words))
    for word in words[at + 1 : at + 4]:
        if word in grammar.pronouns:
            return word
        found = stem(word, language)
        if found:
            return found
    return ""


def _sides(said: frozenset[str], grammar: Grammar) -> dict[int, frozenset[int]]:
    sides: dict[int, frozenset[int]] = {}
    known = _members(id(grammar)) if grammar.exclusive else ()
    for number, members in enumerate(known):
        found = frozenset(place for place, words in enumerate(members) if said & words)
        if found:
            sides[number] = found
    return sides


@cache
def _members(grammar: int) -> tuple[tuple[frozenset[str], ...], ...]:
    """The classes of the grammar with this id, each word as it is and as its stem."""
    language, known = next((code, one) for code, one in GRAMMARS.items() if id(one) == grammar)
    return tuple(
        tuple(frozenset((*part.split(), *stems(part, language))) for part in members) for members in known.exclusive
    )


def _roles(
    words: tuple[str, ...], content: Mapping[str, str], language: str, grammar: Grammar
) -> dict[str, frozenset[str]]:
    """Which words of meaning directly follow which preposition."""
    roles: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        if word not in grammar.directions:
            continue
        for following in words[place + 1 : place + 4]:
            found = stem(following, language)
            if found in content:
                roles.setdefault(word, set()).add(found)
                break
    return {word: frozenset(found) for word, found in roles.items()}
