"""Is the draft in its sources? Sentences are compared with the passages they cite, citations with theirs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shared.contracts.domain import Citation, Passage, Sentence
from shared.text.analysis import stem_set, stems, words
from shared.text.citations import plain
from shared.text.urls import well_formed


class SentenceSupport(NamedTuple):
    """How much of a sentence stands in a set of passages.

    `quoted`: one of them has it word for word. `numbers`: together they have every number of it. `matched` of its
    `stems` distinct stems occur in them.
    """

    quoted: bool
    numbers: bool = True
    matched: int = 0
    stems: int = 0

    def suffices(self, min_overlap: float | None) -> bool:
        """Whether the sentence counts as supported.

        `min_overlap` is the share of stems that is enough, where only numbers count at 0; None accepts only quotes.
        """
        if self.quoted or min_overlap is None:
            return self.quoted
        return self.numbers and (self.matched >= min_overlap * self.stems if self.stems else min_overlap == 0)


def quoted(sentence: str, passages: Iterable[Passage]) -> bool:
    """Whether one of the passages has the sentence word for word, on word boundaries."""
    wanted = plain(sentence)
    return bool(words(sentence)) and any(_contains(plain(passage.text), wanted) for passage in passages)


def sentence_support(sentence: str, passages: Sequence[Passage], language: str) -> SentenceSupport:
    """How much of a sentence stands in the passages; stems are taken by the rules of `language`."""
    if quoted(sentence, passages):
        return SentenceSupport(quoted=True)
    wanted = frozenset(stems(sentence, language))
    present: frozenset[str] = frozenset().union(*(stem_set(passage.text, language) for passage in passages))
    numbers = all(stem in present for stem in wanted if stem.isdigit())
    return SentenceSupport(False, numbers, len(wanted & present), len(wanted))


def support(
    sentences: Iterable[Sentence], citations: Iterable[Citation], passages: Iterable[Passage], language: str
) -> tuple[SentenceSupport, ...]:
    """How much of each sentence stands in the passages that its citations name."""
    by_id = {passage.id: passage for passage in passages}
    cited = {citation.number: by_id[citation.passage] for citation in citations if citation.passage in by_id}
    return tuple(
        sentence_support(sentence.text, [cited[number] for number in sentence.citations if number in cited], language)
        for sentence in sentences
    )


def numbering_faults(sentences: Iterable[Sentence], citations: Sequence[Citation]) -> tuple[str, ...]:
    """What is wrong with the numbers of citations; the messages contain no text of question or answer."""
    faults: list[str] = []
    numbers = [citation.number for citation in citations]
    known = frozenset(numbers)
    if numbers != list(range(1, len(numbers) + 1)):
        faults.append("the citations are not numbered 1, 2, 3")
    for position, sentence in enumerate(sentences, start=1):
        if not sentence.citations:
            faults.append(f"sentence {position} has no citation")
        elif not known.issuperset(sentence.citations):
            faults.append(f"sentence {position} names a citation that does not exist")
    return tuple(faults)


def citation_faults(citations: Iterable[Citation], passages: Iterable[Passage]) -> tuple[str, ...]:
    """What is wrong with each citation, in their order; empty where it leads where it says. Nothing is fetched."""
    by_id = {passage.id: passage for passage in passages}
    return tuple(_fault(citation, by_id.get(citation.passage)) for citation in citations)


def _fault(citation: Citation, passage: Passage | None) -> str:
    if passage is None:
        return "names no passage"
    if citation.source != passage.source:
        return "names another source than its passage"
    if citation.url and citation.url != passage.url:
        return "leads to another page than its passage"
    if citation.url and not well_formed(citation.url):
        return "has a malformed address"
    if citation.quote and citation.quote not in passage.text:
        return "quotes what its passage does not say"
    return ""


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
