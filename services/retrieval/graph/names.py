"""Names, how they are compared, and where they are mentioned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from shared.text.analysis import stop_words, words

#: A longer title is a sentence that nobody repeats.
MAX_WORDS = 10
_MIN_CHARS = 3
_LANGUAGES = ("eng", "fra")
#: What many documents are headed by or begin a sentence with; as names they would link everything.
_GENERIC_WORDS = """
    abstract about annex answer appendix background chapter conclusion contact contents description details example
    examples faq further reading general history home index info information introduction later links method methods
    more next note notes overview page part question questions readme references related result results section
    see also step summary table title usage version what why how who when where
    annexe contenu introduction liens remarque sommaire"""
_GENERIC = frozenset(_GENERIC_WORDS.split())


class Mention(NamedTuple):
    """Where a name stands: `words[start:end]`."""

    start: int
    end: int
    key: str


def key(name: str) -> str:
    """The form in which names are compared: lower case, no accents, no punctuation."""
    return " ".join(words(name))


def is_name(name: str, compared: str) -> bool:
    """Whether a text can serve as a name: not too long, not generic, not a number, not a function word."""
    said = compared.split(" ")
    if not compared or len(said) > MAX_WORDS or compared.replace(" ", "").isdigit():
        return False
    if len(compared) < _MIN_CHARS and not (name.isupper() and len(compared) > 1):
        return False
    return not all(word in _GENERIC or is_function_word(word) for word in said)


def is_function_word(word: str) -> bool:
    return any(word in stop_words(language) for language in _LANGUAGES)


def spans(said: Sequence[str]) -> set[str]:
    """Every stretch of up to `MAX_WORDS` words that could be a name: what to ask a store for."""
    ends = len(said)
    edges = [not is_function_word(word) for word in said]
    return {
        " ".join(said[start:end])
        for start in range(ends)
        for end in range(start + 1, min(start + MAX_WORDS, ends) + 1)
        if edges[start] or edges[end - 1]
    }


class NameIndex:
    """Names to be found in texts, all in one pass: a name is looked up by its words, never sought one by one.

    Unlike an automaton it grows and shrinks without being built anew, and it knows where words begin and end. The cost
    of a text depends on its length and on how many lengths the names have that begin with its words, not on how many
    names there are.
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
        """Forget the name; its length stays known, which costs a look-up and no wrong find."""
        self._names.discard(name)

    def find(self, said: Sequence[str]) -> Iterator[Mention]:
        """Every mention in order, the longest name at each place first, names within others too."""
        lengths, names = self._lengths, self._names
        for start, word in enumerate(said):
            for length in lengths.get(word, ()):
                name = word if length == 1 else " ".join(said[start : start + length])
                if name in names and start + length <= len(said):
                    yield Mention(start, start + length, name)

    def find_longest(self, said: Sequence[str]) -> Iterator[Mention]:
        """The mentions of which none lies within another."""
        until = 0
        for mention in self.find(said):
            if mention.start >= until:
                until = mention.end
                yield mention


def first_mentions(lexicon: NameIndex, said: Sequence[str], own: Collection[str] = ()) -> dict[str, int]:
    """Each name the words mention, but the text's own, and where it stands first."""
    found: dict[str, int] = {}
    for mention in lexicon.find(said):
        if mention.key not in own:
            found.setdefault(mention.key, mention.start)
    return found
