"""A rating and the answer it is about. Pure."""

from __future__ import annotations

from shared.errors import RefusedError
from shared.facts import AnswerReused, AnswerVerified, Fact, FeedbackGiven


def rated(feedback: FeedbackGiven, ending: Fact | None) -> FeedbackGiven:
    """The rating with the sources that the answer cited; none where the question has no answer (yet).

    Raises:
        RefusedError: there is not one score for every sentence, or for every citation.
    """
    answered = ending if isinstance(ending, AnswerVerified | AnswerReused) else None
    sentences = len(answered.answer.sentences) if answered else 0
    citations = len(answered.citations) if answered else 0
    for name, given, there in (
        ("sentences", feedback.sentence_scores, sentences),
        ("citations", feedback.citation_scores, citations),
    ):
        if given and len(given) != there:
            raise RefusedError(f"scores.{name}: one for each of the {there} {name} of the answer, got {len(given)}")
    cited = tuple(dict.fromkeys(citation.source for citation in answered.citations)) if answered else ()
    return feedback.model_copy(update={"sources": cited})
