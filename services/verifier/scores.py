"""The scores of a draft, and by rule what they are. Pure.

groundedness  share of the sentences that their passages support
relevancy     share of the question's stems that the answer, or the title of a page it cites, speaks of
completeness  of the question's stems that the passages speak of at all, the share that the answer speaks of
overall       40 % groundedness, 40 % relevancy, 20 % completeness
"""

from __future__ import annotations

from collections.abc import Sequence

from services.verifier.groundedness import passage_stems
from shared.contracts.domain import Answer, Citation, Passage, Scores
from shared.text.analysis import stems


def score(
    question: str,
    answer: Answer,
    citations: Sequence[Citation],
    passages: Sequence[Passage],
    *,
    language: str,
    unsupported: int,
) -> Scores:
    """The four scores, each 0 to 1, to three decimals. A question without stems is taken as met."""
    count = len(answer.sentences)
    groundedness = (count - unsupported) / count if count else 0.0
    asked = frozenset(stems(question, language))
    said = answer_stems(answer, citations, language)
    relevancy = len(asked & said) / len(asked) if asked else 1.0
    available = asked & frozenset().union(
        *(passage_stems(passage.text, language) | passage_stems(passage.title, language) for passage in passages)
    )
    completeness = len(available & said) / len(available) if available else 1.0
    return weigh(groundedness, relevancy, completeness)


def weigh(groundedness: float, relevancy: float, completeness: float) -> Scores:
    """The three scores and what they come to, to three decimals; also those of the judge are weighed here."""
    overall = 0.4 * groundedness + 0.4 * relevancy + 0.2 * completeness
    return Scores(
        groundedness=round(groundedness, 3),
        relevancy=round(relevancy, 3),
        completeness=round(completeness, 3),
        overall=round(overall, 3),
    )


def answer_stems(answer: Answer, citations: Sequence[Citation], language: str) -> frozenset[str]:
    """What the answer speaks of: its sentences and the titles of the pages it cites."""
    said = frozenset(stems(" ".join(sentence.text for sentence in answer.sentences), language))
    return said.union(*(passage_stems(citation.title, language) for citation in citations))
