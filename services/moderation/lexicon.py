"""Lexicons: phrases of many kinds and languages in one automaton (Aho and Corasick 1975), linear in the text.

An entry is a line:

    go to hell              these words, however they are cased, accented or disguised (see `folding`)
    bomb*                   any word that begins so
    (shut|close) it         either word; an empty alternative leaves it out: (the|) manager
    ignore .. instructions  up to four words between; `...` up to twelve
    retard @eng             only in a text that is in that language: the word is harmless in another

Entries of few forms stand in the automaton with all of them. Of others the most telling step does, and where it is
found a pattern looks at the words around it. Every alternative is tried when a lexicon is compiled; one that cannot
fire is an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import ahocorasick

from services.moderation.normalizer import fold, origins, readings
from shared.text.analysis import stop_words
from shared.text.languages import UNKNOWN, code3

#: Phrases in whose midst no other entry counts.
ALLOWED = "allowed"
#: What counts only when a text says nothing else: it does not matter where it stands.
WHOLE = frozenset(["greeting", "thanks", "chitchat"])
_GAPS = {"..": 4, "...": 12}
#: An entry of more forms is looked for by a pattern.
_MOST_FORMS = 100
#: A phrase is looked for in spaced-out letters when it has so many.
_SHORTEST_RUN = 4
#: How far around its telling step a pattern looks, in characters.
_AROUND = 400
_COMMON = frozenset().union(*map(stop_words, ("eng", "fra", "spa")))


class LexiconError(ValueError):
    """An entry that cannot be read, or can never fire; the text names it and its list."""


@dataclass(frozen=True)
class Hit:
    """An entry of the kind stands at `start` to `end` of the text; `language` is that of its list, where it has one."""

    kind: str
    start: int
    end: int
    language: str = ""


@dataclass(frozen=True)
class _Step:
    """The alternatives of one place in an entry, folded, `*` kept; `gap` words may stand before it."""

    forms: tuple[str, ...]
    optional: bool
    gap: int

    def pattern(self) -> str:
        between = rf"(?:[^ ]++ ){{0,{self.gap}}}" if self.gap else ""
        forms = "|".join(f"{re.escape(form.rstrip('*'))}{'[^ ]*+' * form.endswith('*')}" for form in self.forms)
        return rf"{between}(?:(?:{forms}) ){'?' * self.optional}"

    def tells(self) -> int:
        """How rare it is that a text has one of the forms for nothing, by the longest word of the least rare form."""
        if self.optional:
            return 0
        return min(max(0 if word in _COMMON else len(word) for word in form.split()) for form in self.forms)


@dataclass(frozen=True, eq=False)
class _Entry:
    """A compiled line; `pattern` where its forms are too many to be listed."""

    kind: str
    listed: str
    line: str
    language: str
    list_language: str
    steps: tuple[_Step, ...]
    pattern: re.Pattern[str] | None

    def anchors(self) -> tuple[str, ...]:
        """What of it stands in the automaton: all forms, or those of its most telling step."""
        forms = max(self.steps, key=_Step.tells).forms if self.pattern else _every_form(self.steps)
        return tuple(f" {form[:-1]}" if form.endswith("*") else f" {form} " for form in forms)


@dataclass(frozen=True)
class _Found:
    """An entry in a folded text, from its first letter to the space after its last."""

    entry: _Entry
    start: int
    end: int


class Lexicon:
    """Every entry of every list, compiled; `kinds` are those it has entries of."""

    def __init__(self, lists: Iterable[tuple[str, str, tuple[str, ...]]]) -> None:
        """Compile lists of (kind, language, lines); a language of `any` is a name like the others.

        Raises:
            LexiconError: an entry cannot be read or can never fire.
        """
        self._entries = [_read(kind, language, line) for kind, language, lines in lists for line in lines]
        self.kinds = frozenset(entry.kind for entry in self._entries)
        self._words = _automaton(self._entries)
        self._runs = _runs(self._entries)
        for entry in self._entries:
            self._try(entry)

    def find(self, text: str, language: Callable[[], str]) -> tuple[Hit, ...]:
        """Every hit, in whichever way the text has to be read for it; `language` is asked for when it matters."""
        hits: dict[Hit, None] = {}
        for reading in readings(text):
            if reading.run:
                for _, kind in self._runs.iter(reading.folded) if len(self._runs) else ():
                    hits[Hit(kind, reading.start, reading.end)] = None
                continue
            found = [
                one
                for one in self._outside(reading.folded)
                if not one.entry.language or one.entry.language == language()
            ]
            places: list[int] = []
            for one in found:
                where = (reading.start, reading.end)
                if reading.source is not None and one.entry.kind not in WHOLE:
                    places = places or origins(reading.source)
                    where = (places[one.start], places[one.end - 1] + 1)
                hits[Hit(one.entry.kind, *where, one.entry.list_language)] = None
        return tuple(hits)

    def covers(self, text: str, kinds: frozenset[str]) -> bool:
        """Whether the text is nothing but entries of these kinds."""
        folded = fold(text)
        covered = 1
        for one in sorted(_search(self._words, folded), key=lambda one: (one.start, -one.end)):
            if one.entry.kind in kinds and one.start <= covered:
                covered = max(covered, one.end + 1)
        return 1 < covered >= len(folded)

    def _outside(self, folded: str) -> Iterator[_Found]:
        """What is found outside allowed phrases."""
        found = list(_search(self._words, folded))
        allowed = [(one.start, one.end) for one in found if one.entry.kind == ALLOWED]
        for one in found:
            if one.entry.kind != ALLOWED and not any(begin <= one.start and one.end <= end for begin, end in allowed):
                yield one

    def _try(self, entry: _Entry) -> None:
        """Look for every alternative of the entry in a text made of it.

        Raises:
            LexiconError: naming the list and the entry that cannot fire.
        """
        for number, step in enumerate(entry.steps):
            for form in step.forms:
                words = (form if at == number else one.forms[0] for at, one in enumerate(entry.steps))
                folded = f" {' '.join(word.rstrip('*') for word in words)} "
                look = _search(self._words, folded) if entry.kind == ALLOWED else self._outside(folded)
                if not any(one.entry is entry for one in look):
                    raise LexiconError(f"{entry.listed}: the entry {entry.line!r} can never fire")


def _search(words: ahocorasick.Automaton, folded: str) -> Iterator[_Found]:
    """Every entry in a folded text."""
    around: dict[_Entry, list[list[int]]] = {}
    for last, (key, entries) in words.iter(folded) if len(words) else ():
        start = last - len(key) + 2
        for entry in entries:
            if entry.pattern is None:
                yield _Found(entry, start, last if key.endswith(" ") else folded.find(" ", last))
                continue
            # Places that lie near one another are looked at once: the work stays linear in the text.
            pieces = around.setdefault(entry, [])
            if pieces and start - _AROUND <= pieces[-1][1]:
                pieces[-1][1] = last + _AROUND
            else:
                pieces.append([max(0, start - _AROUND), last + _AROUND])
    for entry, pieces in around.items():
        assert entry.pattern is not None
        for begin, end in pieces:
            yield from (_Found(entry, one.start(), one.end() - 1) for one in entry.pattern.finditer(folded, begin, end))


def _automaton(entries: Iterable[_Entry]) -> ahocorasick.Automaton:
    keyed: dict[str, dict[_Entry, None]] = defaultdict(dict)
    for entry in entries:
        for key in entry.anchors():
            keyed[key][entry] = None
    words = ahocorasick.Automaton()
    for key, where in keyed.items():
        words.add_word(key, (key, tuple(where)))
    if keyed:
        words.make_automaton()
    return words


def _runs(entries: Iterable[_Entry]) -> ahocorasick.Automaton:
    """The phrases without their spaces, for letters that were spaced out."""
    runs = ahocorasick.Automaton()
    for entry in entries:
        if entry.kind != ALLOWED and not entry.language and entry.pattern is None:
            for key in entry.anchors():
                if len(closed := key.replace(" ", "")) >= _SHORTEST_RUN:
                    runs.add_word(closed, entry.kind)
    if len(runs):
        runs.make_automaton()
    return runs


_TOKEN = re.compile(r"\.{2,3}|\([^()]*\)|[^\s()]+")


def _read(kind: str, listed_language: str, line: str) -> _Entry:
    """Compile a line.

    Raises:
        LexiconError: it cannot be read, or a part of it is not made of letters.
    """
    listed = f"{kind}.{listed_language}"
    words, mark, only = line.partition("@")
    language = code3(only) if mark else ""
    if mark and language == UNKNOWN:
        raise LexiconError(f"{listed}: the entry {line!r} names a language that is not known")
    if words.count("(") != words.count(")"):
        raise LexiconError(f"{listed}: the entry {line!r} has a bracket without its fellow")
    steps: list[_Step] = []
    gap = 0
    for token in _TOKEN.findall(words):
        if token in _GAPS:
            gap = _GAPS[token]
            continue
        alternatives = token[1:-1].split("|") if token.startswith("(") else [token]
        folded = (fold(one).strip() + "*" * one.strip().endswith("*") for one in alternatives)
        known = tuple(dict.fromkeys(form for form in folded if form.strip("*")))
        if known:
            steps.append(_Step(known, any(not one.strip() for one in alternatives), gap))
            gap = 0
    if all(step.optional for step in steps) or sum(len(step.forms[0]) for step in steps if not step.optional) < 2:
        raise LexiconError(f"{listed}: the entry {line!r} can never fire: too little of it is letters")
    forms = 1
    for step in steps:
        forms *= len(step.forms) + step.optional
    listable = forms <= _MOST_FORMS and not any(step.gap for step in steps) and not _open_inside(steps)
    pattern = None if listable else re.compile("(?<= )" + "".join(step.pattern() for step in steps))
    list_language = code3(listed_language)
    return _Entry(
        kind, listed, line, language, "" if list_language == UNKNOWN else list_language, tuple(steps), pattern
    )


def _open_inside(steps: list[_Step]) -> bool:
    """Whether a word that may go on is followed by another."""
    return any(form.endswith("*") for step in steps[:-1] for form in step.forms)


def _every_form(steps: tuple[_Step, ...]) -> tuple[str, ...]:
    choices = [(*step.forms, *([""] if step.optional else [])) for step in steps]
    return tuple(dict.fromkeys(" ".join(filter(None, chosen)) for chosen in product(*choices)))


@lru_cache(maxsize=64)
def compiled(lists: tuple[tuple[str, str, tuple[str, ...]], ...]) -> Lexicon:
    """The lexicon of these lists, compiled once however many pipelines have the same.

    Raises:
        LexiconError: an entry cannot be read or can never fire.
    """
    return Lexicon(lists)
