"""Names: their normal form, which texts qualify, and where they are mentioned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from services.retrieval.graph.cue_words import WORDS
from shared.language.analysis import stop_words, words
from shared.language.packs import once

#: Maximum words of a name; a longer title is a sentence that no text repeats.
MAX_WORDS = 10
_MIN_CHARS = 3
#: Common headings and beginnings of sentences; as names they would link everything.
_GENERIC = frozenset(once(words.generic for words in WORDS.values()))


class Mention(NamedTuple):
    """An occurrence of the name `key` at `words[start:end]`."""

    start: int
    end: int
    key: str


def key(name: str) -> str:
    """The normal form of a name: lower case, no accents, no punctuation."""
    return " ".join(words(name))


def is_name(name: str, compared: str) -> bool:
    """Whether a text qualifies as a name: not too long, generic, a number or a function word.

    `compared` is its normal form (`key`).
    """
    parts = compared.split(" ")
    if not compared or len(parts) > MAX_WORDS or compared.replace(" ", "").isdigit():
        return False
    if len(compared) < _MIN_CHARS and not (name.isupper() and len(compared) > 1):
        return False
    return not all(word in _GENERIC or is_function_word(word) for word in parts)


def is_function_word(word: str) -> bool:
    return word in _function_words()


@cache
def _function_words() -> frozenset[str]:
    return frozenset[str]().union(*map(stop_words, (language for language, words in WORDS.items() if words.copulas)))


def spans(text_words: Sequence[str]) -> set[str]:
    """Every span of up to `MAX_WORDS` words that could be a name, to be looked up in a store."""
    ends = len(text_words)
    dropped = _function_words()
    edges = [word not in dropped for word in text_words]
    found = set()
    for start, at_edge in enumerate(edges):
        for end in range(start + 1, min(start + MAX_WORDS, ends) + 1):
            if at_edge or edges[end - 1]:
                found.add(" ".join(text_words[start:end]))
    return found


class NameIndex:
    """A set of names that are found in a text in one pass.

    Unlike an automaton (Aho-Corasick) it is updated in place and matches whole words only. The cost of a text depends
    on its length and on the number of different lengths of the names that begin with its words, not on how many names
    there are.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._lengths: dict[str, tuple[int, ...]] = {}
        for name in names:
            self.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: str) -> None:
        self._names.add(name)
        first = name.partition(" ")[0]
        length = name.count(" ") + 1
        lengths = self._lengths.get(first, ())
        if length not in lengths:
            self._lengths[first] = tuple(sorted((*lengths, length), reverse=True))

    def discard(self, name: str) -> None:
        """Remove the name; its length stays, which costs a lookup and gives no false match."""
        self._names.discard(name)

    def find(self, text_words: Sequence[str]) -> Iterator[Mention]:
        """Every mention in order, the longest at each position first, including names within names."""
        lengths, names = self._lengths, self._names
        for start, word in enumerate(text_words):
            for length in lengths.get(word, ()):
                name = word if length == 1 else " ".join(text_words[start : start + length])
                if name in names and start + length <= len(text_words):
                    yield Mention(start, start + length, name)

    def find_longest(self, text_words: Sequence[str]) -> Iterator[Mention]:
        """The mentions that do not lie within another."""
        until = 0
        for mention in self.find(text_words):
            if mention.start >= until:
                until = mention.end
                yield mention


def longest_names(text_words: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """The known names that the words mention, in their order, without those within longer ones."""
    return tuple(dict.fromkeys(mention.key for mention in NameIndex(known).find_longest(text_words)))


def first_mentions(index: NameIndex, text_words: Sequence[str], own: Collection[str] = ()) -> dict[str, int]:
    """Maps each name that the words mention, except `own`, to its first position."""
    positions: dict[str, int] = {}
    for mention in index.find(text_words):
        if mention.key not in own:
            positions.setdefault(mention.key, mention.start)
    return positions
