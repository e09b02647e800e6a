"""What the rules know of a language to tell whether two questions ask the same: closed word classes, no topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Grammar:
    """Word classes of one language; words are normalised (small letters, no accents), lists may hold any form.

    `openings` maps the words a question begins with to what it asks for (`who`, `where`, `when`, `why`, `how`,
    `measure`, `what`, `whether`), longest first; `obliging` and `allowing` are modal words; `exclusive` are classes of
    which one word excludes the other (before, after); `alike` are groups of words that say the same; `idle` words add
    nothing to what is asked; `directions` are prepositions and those that turn them; `passive` marks that
    roles are turned, `pronouns` may be who does it, after one of the auxiliaries in `acting`;
    `numerals` are numbers in words, `endings` make other words of the same, the beginnings in
    `turning` their opposites.
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


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def classes(text: str) -> tuple[tuple[str, ...], ...]:
    """A class a line: alternatives are separated by `|`, words that stand for the same alternative by spaces."""
    return tuple(tuple(part.strip() for part in line.split("|")) for line in text.strip().splitlines() if line.strip())


def opposites(*pairs: str) -> dict[str, frozenset[str]]:
    """Each word of a pair `a b` turns the other."""
    turning: dict[str, set[str]] = {}
    for one, other in (pair.split() for pair in pairs):
        turning.setdefault(one, set()).add(other)
        turning.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in turning.items()}


def numbered(text: str, first: int) -> dict[str, str]:
    """The words of a text, counted from `first`."""
    return {word: str(number) for number, word in enumerate(text.split(), start=first)}
