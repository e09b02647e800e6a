"""Does every citation lead where it says? Pure; nothing is fetched. A citation may do without an address."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.domain import Answer, Citation, Passage
from shared.text.urls import well_formed


def faults(answer: Answer, citations: Sequence[Citation], passages: Sequence[Passage]) -> list[str]:
    """What is wrong with the citations, each in a few words without any text of the question; empty when nothing is."""
    found: list[str] = []
    numbers = [citation.number for citation in citations]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append("the citations are not numbered 1, 2, 3")
    known = set(numbers)
    for index, sentence in enumerate(answer.sentences, start=1):
        if not sentence.citations:
            found.append(f"sentence {index} has no citation")
        elif not known.issuperset(sentence.citations):
            found.append(f"sentence {index} names a citation that does not exist")
    by_id = {passage.id: passage for passage in passages}
    wrong = ((citation.number, _fault(citation, by_id.get(citation.passage))) for citation in citations)
    return [*found, *(f"citation {number} {fault}" for number, fault in wrong if fault)]


def misleading(citations: Sequence[Citation], passages: Sequence[Passage]) -> list[Citation]:
    """The citations that do not lead where they say."""
    by_id = {passage.id: passage for passage in passages}
    return [citation for citation in citations if _fault(citation, by_id.get(citation.passage))]


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
