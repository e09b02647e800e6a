"""Is it in the source? A sentence is looked for in the passages that its citations name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from shared.contracts.domain import Answer, Citation, Passage
from shared.text.analysis import normalise, stems, words
from shared.text.citations import links_section
from shared.text.sanitizer import clean

_MARKER = re.compile(r"\s*\[\d{1,3}\]")


@lru_cache(maxsize=2048)  # the passages that answer many questions are read once
def plain(text: str) -> str:
    """To compare by: as it may be shown, no case, no accents, single spaces."""
    return " ".join(normalise(clean(text)).split())


def quoted(sentence: str, passages: Iterable[Passage]) -> bool:
    """Whether one of the passages has the sentence word for word, on word boundaries."""
    wanted = plain(sentence)
    return bool(words(sentence)) and any(_contains(plain(passage.text), wanted) for passage in passages)


def spoken_of(sentence: str, passages: Iterable[Passage], language: str, least: float) -> bool:
    """Whether the passages together have at least this share of the sentence's stems; numbers must all be there.

    With `least` 0 only the numbers count.
    """
    said = frozenset(stems(sentence, language))
    found: frozenset[str] = frozenset().union(*(passage_stems(passage.text, language) for passage in passages))
    if any(stem.isdigit() and stem not in found for stem in said):
        return False
    return len(said & found) >= least * len(said) if said else least == 0


@lru_cache(maxsize=2048)
def passage_stems(text: str, language: str) -> frozenset[str]:
    return frozenset(stems(text, language))


def unsupported(
    answer: Answer,
    citations: Iterable[Citation],
    passages: Iterable[Passage],
    *,
    language: str,
    least: float | None,
) -> list[int]:
    """The positions of the sentences that no passage of their citations supports.

    `least` is the share of stems that will do, or None when only the exact words do.
    """
    by_id = {passage.id: passage for passage in passages}
    cited = {c.number: by_id[c.passage] for c in citations if c.passage in by_id}
    missing = []
    for index, sentence in enumerate(answer.sentences):
        sources = [cited[number] for number in sentence.citations if number in cited]
        held = quoted(sentence.text, sources)
        if not held and least is not None:
            held = spoken_of(sentence.text, sources, language, least)
        if not held:
            missing.append(index)
    return missing


def says_more(answer: Answer) -> bool:
    """Whether the content holds anything beside its sentences, the numbers of their citations and its links."""
    shown = plain(_MARKER.sub("", answer.content.removesuffix(links_section(answer.links))))
    return shown != plain(_MARKER.sub("", " ".join(sentence.text for sentence in answer.sentences)))


def _contains(text: str, wanted: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_joined(text, at) or _joined(text, end)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _joined(text: str, at: int) -> bool:
    """Whether position `at` lies within a word of a script that puts spaces between words."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() and text[at - 1 : at + 1].isascii()
