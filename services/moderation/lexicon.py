"""Lexicons: phrases of many kinds and languages, found by one automaton (Aho and Corasick 1975) in linear time.

An entry is a line:

    go to hell              these words, whatever their case, accents or disguise (see `normalizer`)
    bomb*                   any word with this prefix
    (shut|close) it         either word; an empty alternative makes it optional: (the|) manager
    ignore .. instructions  up to four words in between; `...` up to twelve
    retard @eng             only in a text in that language: the word is harmless in another

The automaton contains all forms of an entry where these are few. For other entries it contains the forms of the most
distinctive step, and a regular expression checks the words around each match. When a lexicon is compiled, every
alternative of every entry is tried; one that can never match is an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import ahocorasick

from shared.language.analysis import stop_words
from shared.text.languages import UNKNOWN, code3
from shared.text.normalizer import normalize, normalized_texts, source_offsets

#: The kind of phrases that suppress other entries within them.
ALLOWED = "allowed"
#: Kinds that count only when they make up the whole text, so that their positions do not matter.
WHOLE = frozenset(["greeting", "thanks", "chitchat"])
_GAPS = {"..": 4, "...": 12}
#: An entry with more forms is matched by a regular expression.
_MOST_FORMS = 100
#: Letters of the shortest phrase that is searched for in spaced-out letters.
_SHORTEST_RUN = 4
#: Characters around the distinctive step in which a regular expression is applied.
_CONTEXT_CHARS = 400
_COMMON_WORDS = frozenset().union(*map(stop_words, ("eng", "fra", "spa")))


class LexiconError(ValueError):
    """An entry that is invalid or can never match; the text names the entry and its list."""


@dataclass(frozen=True)
class LexiconHit:
    """An entry of the kind was found at `start` to `end` of the text; `language` is that of its list, or empty.

    `rule` names the entry: its list and its line, such as `threat.en: go to hell`.
    """

    kind: str
    start: int
    end: int
    language: str = ""
    rule: str = ""


@dataclass(frozen=True)
class _Step:
    """The alternatives at one position of an entry, normalized, `*` kept; up to `gap` words may stand before it."""

    forms: tuple[str, ...]
    optional: bool
    gap: int

    def pattern(self) -> str:
        between = rf"(?:[^ ]++ ){{0,{self.gap}}}" if self.gap else ""
        forms = "|".join(f"{re.escape(form.rstrip('*'))}{'[^ ]*+' * form.endswith('*')}" for form in self.forms)
        return rf"{between}(?:(?:{forms}) ){'?' * self.optional}"

    def distinctiveness(self) -> int:
        """How unlikely a chance match is: the length of each form's longest uncommon word, the least of all forms."""
        if self.optional:
            return 0
        return min(max(0 if word in _COMMON_WORDS else len(word) for word in form.split()) for form in self.forms)


@dataclass(frozen=True, eq=False)
class _Entry:
    """A compiled line; it has a `pattern` where its forms are too many to be enumerated."""

    kind: str
    list_name: str
    line: str
    language: str
    list_language: str
    steps: tuple[_Step, ...]
    pattern: re.Pattern[str] | None

    @property
    def rule(self) -> str:
        """The name of the entry: its list and its line."""
        return f"{self.list_name}: {self.line}"

    def anchors(self) -> tuple[str, ...]:
        """What the automaton contains of it: all forms, or the forms of its most distinctive step."""
        forms = max(self.steps, key=_Step.distinctiveness).forms if self.pattern else _every_form(self.steps)
        return tuple(f" {form[:-1]}" if form.endswith("*") else f" {form} " for form in forms)


@dataclass(frozen=True)
class _Match:
    """An entry in a normalized text, from its first letter to the space after its last."""

    entry: _Entry
    start: int
    end: int


class Lexicon:
    """The compiled entries of all lists; `kinds` are the kinds of these entries."""

    def __init__(self, lists: Iterable[tuple[str, str, tuple[str, ...]]]) -> None:
        """Compile lists of (kind, language, lines); the language `any` means every language.

        Raises:
            LexiconError: an entry is invalid or can never match.
        """
        self._entries = [_read(kind, language, line) for kind, language, lines in lists for line in lines]
        self.kinds = frozenset(entry.kind for entry in self._entries)
        self._words = _automaton(self._entries)
        for entry in self._entries:
            self._check_matches(entry)

    @cached_property
    def _runs(self) -> ahocorasick.Automaton:
        """The phrases without spaces; made with the first text that has spaced-out letters, which few have (3 MB)."""
        return _runs(self._entries)

    def find(self, text: str, language: Callable[[], str]) -> tuple[LexiconHit, ...]:
        """Every hit in any normalized form of the text; `language` is called only when an entry depends on it."""
        hits: dict[LexiconHit, None] = {}
        for variant in normalized_texts(text):
            if variant.run:
                for _, entry in self._runs.iter(variant.normalized) if len(self._runs) else ():
                    hits[LexiconHit(entry.kind, variant.start, variant.end, rule=entry.rule)] = None
                continue
            matches = [
                match
                for match in self._outside_allowed(variant.normalized)
                if not match.entry.language or match.entry.language == language()
            ]
            places: list[int] = []
            for match in matches:
                where = (variant.start, variant.end)
                if variant.source is not None and match.entry.kind not in WHOLE:
                    places = places or source_offsets(variant.source)
                    where = (places[match.start], places[match.end - 1] + 1)
                hits[LexiconHit(match.entry.kind, *where, match.entry.list_language, match.entry.rule)] = None
        return tuple(hits)

    def covers(self, text: str, kinds: frozenset[str]) -> bool:
        """Whether the text consists only of entries of these kinds."""
        normalized = normalize(text)
        covered = 1
        for match in sorted(_search(self._words, normalized), key=lambda match: (match.start, -match.end)):
            if match.entry.kind in kinds and match.start <= covered:
                covered = max(covered, match.end + 1)
        return 1 < covered >= len(normalized)

    def _outside_allowed(self, normalized: str) -> Iterator[_Match]:
        """The matches outside allowed phrases."""
        matches = list(_search(self._words, normalized))
        allowed = [(match.start, match.end) for match in matches if match.entry.kind == ALLOWED]
        for match in matches:
            if match.entry.kind != ALLOWED and not any(
                begin <= match.start and match.end <= end for begin, end in allowed
            ):
                yield match

    def _check_matches(self, entry: _Entry) -> None:
        """Search for every alternative of the entry in a text made of it.

        Raises:
            LexiconError: an alternative does not match, for instance because an allowed phrase covers it.
        """
        for number, step in enumerate(entry.steps):
            for form in step.forms:
                words = (form if at == number else step.forms[0] for at, step in enumerate(entry.steps))
                normalized = f" {' '.join(word.rstrip('*') for word in words)} "
                matches = (
                    _search(self._words, normalized) if entry.kind == ALLOWED else self._outside_allowed(normalized)
                )
                if not any(match.entry is entry for match in matches):
                    raise LexiconError(f"{entry.list_name}: the entry {entry.line!r} can never match")


def _search(words: ahocorasick.Automaton, normalized: str) -> Iterator[_Match]:
    """Every match in a normalized text."""
    around: dict[_Entry, list[list[int]]] = {}
    for last, (key, entries) in words.iter(normalized) if len(words) else ():
        start = last - len(key) + 2
        for entry in entries:
            if entry.pattern is None:
                yield _Match(entry, start, last if key.endswith(" ") else normalized.find(" ", last))
                continue
            # Overlapping contexts are merged, so that the work stays linear in the text.
            pieces = around.setdefault(entry, [])
            if pieces and start - _CONTEXT_CHARS <= pieces[-1][1]:
                pieces[-1][1] = last + _CONTEXT_CHARS
            else:
                pieces.append([max(0, start - _CONTEXT_CHARS), last + _CONTEXT_CHARS])
    for entry, pieces in around.items():
        assert entry.pattern is not None
        for begin, end in pieces:
            yield from (
                _Match(entry, found.start(), found.end() - 1)
                for found in entry.pattern.finditer(normalized, begin, end)
            )


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
    """The automaton of the phrases without spaces, for spaced-out letters."""
    runs = ahocorasick.Automaton()
    for entry in entries:
        if entry.kind != ALLOWED and not entry.language and entry.pattern is None:
            for key in entry.anchors():
                if len(closed := key.replace(" ", "")) >= _SHORTEST_RUN:
                    runs.add_word(closed, entry)
    if len(runs):
        runs.make_automaton()
    return runs


_NESTED = re.compile(r"\([^()]*+\(")
_TOKEN = re.compile(r"\.{2,3}|\([^()]*\)|[^\s()]+")


def _read(kind: str, file_language: str, line: str) -> _Entry:
    """Compile a line of the list of that kind and language.

    Raises:
        LexiconError: the line is invalid, or has fewer than two letters.
    """
    list_name = f"{kind}.{file_language}"
    words, mark, only = line.partition("@")
    language = code3(only) if mark else ""
    if mark and language == UNKNOWN:
        raise LexiconError(
            f"{list_name}: the entry {line!r} names an unknown language; use its ISO 639 code, such as @eng"
        )
    if words.count("(") != words.count(")"):
        raise LexiconError(f"{list_name}: the entry {line!r} has unbalanced parentheses")
    if _NESTED.search(words):
        raise LexiconError(f"{list_name}: the entry {line!r} has parentheses within parentheses; write several entries")
    steps: list[_Step] = []
    gap = 0
    for token in _TOKEN.findall(words):
        if token in _GAPS:
            gap = _GAPS[token]
            continue
        alternatives = token[1:-1].split("|") if token.startswith("(") else [token]
        normalized = (
            normalize(alternative).strip() + "*" * alternative.strip().endswith("*") for alternative in alternatives
        )
        known = tuple(dict.fromkeys(form for form in normalized if form.strip("*")))
        if known:
            steps.append(_Step(known, any(not alternative.strip() for alternative in alternatives), gap))
            gap = 0
    if all(step.optional for step in steps) or sum(len(step.forms[0]) for step in steps if not step.optional) < 2:
        raise LexiconError(f"{list_name}: the entry {line!r} can never match: it has fewer than two letters")
    forms = 1
    for step in steps:
        forms *= len(step.forms) + step.optional
    listable = forms <= _MOST_FORMS and not any(step.gap for step in steps) and not _open_inside(steps)
    pattern = None if listable else re.compile("(?<= )" + "".join(step.pattern() for step in steps))
    list_language = code3(file_language)
    return _Entry(
        kind, list_name, line, language, "" if list_language == UNKNOWN else list_language, tuple(steps), pattern
    )


def _open_inside(steps: list[_Step]) -> bool:
    """Whether a prefix (`*`) is followed by another word."""
    return any(form.endswith("*") for step in steps[:-1] for form in step.forms)


def _every_form(steps: tuple[_Step, ...]) -> tuple[str, ...]:
    choices = [(*step.forms, *([""] if step.optional else [])) for step in steps]
    return tuple(dict.fromkeys(" ".join(filter(None, chosen)) for chosen in product(*choices)))


@lru_cache(maxsize=64)
def compiled(lists: tuple[tuple[str, str, tuple[str, ...]], ...]) -> Lexicon:
    """The lexicon of these lists; cached, because many pipelines have the same lists.

    Raises:
        LexiconError: an entry is invalid or can never match.
    """
    return Lexicon(lists)
