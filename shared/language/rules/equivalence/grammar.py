"""Closed word classes of a language, by which the rules tell whether two questions ask the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Grammar:
    """Word classes of one language; words are normalised (lower case, no accents), lists may hold any inflection.

    `openings` maps the first words of a question to what it asks for (`who`, `where`, `when`, `why`, `how`,
    `measure`, `what`, `whether`), longest first. `obliging` and `allowing` are modal words; `exclusive` are classes
    whose members exclude each other (before, after); `alike` are groups of synonyms; `idle` words do not change what is
    asked. `directions` maps a preposition to its opposites; `passive` words mark that subject and object are exchanged;
    `pronouns` can be the subject after one of the auxiliaries in `acting`. `numerals` are numbers in words; `endings`
    are suffixes that do not change the meaning, `turning` prefixes that make the opposite. `facets` are what can be
    asked about a thing (its causes, its treatment, its meaning), each with its words; a question that asks `what X is`
    asks for its meaning, with one of the openings in `defining`. `relating` are nouns of which the thing that follows
    one of `owning` is the owner (`a risk factor for X`). `times` are words for when something is.
    """

    openings: tuple[tuple[str, str], ...] = ()
    auxiliaries: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    obliging: frozenset[str] = frozenset()
    allowing: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    exclusive: tuple[tuple[str, ...], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    directions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    passive: frozenset[str] = frozenset()
    pronouns: frozenset[str] = frozenset()
    acting: frozenset[str] = frozenset()
    numerals: Mapping[str, str] = field(default_factory=dict)
    endings: frozenset[str] = frozenset()
    turning: frozenset[str] = frozenset()
    facets: tuple[tuple[str, ...], ...] = ()
    defining: tuple[str, ...] = ()
    relating: frozenset[str] = frozenset()
    owning: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def classes(text: str) -> tuple[tuple[str, ...], ...]:
    """One class per line: alternatives are separated by `|`, synonyms within an alternative by spaces."""
    return tuple(tuple(part.strip() for part in line.split("|")) for line in text.strip().splitlines() if line.strip())


def opposites(*pairs: str) -> dict[str, frozenset[str]]:
    """Maps each word of the pairs `a b` to its opposites."""
    opposed: dict[str, set[str]] = {}
    for one, other in (pair.split() for pair in pairs):
        opposed.setdefault(one, set()).add(other)
        opposed.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in opposed.items()}


def numbered(text: str, first: int) -> dict[str, str]:
    """Maps the words of a text to consecutive numbers from `first`."""
    return {word: str(number) for number, word in enumerate(text.split(), start=first)}
