"""Which of the questions that were answered before asks the same as a new one, if any. Pure.

The nearest one is taken when nothing tells the two apart by rule, it is near enough, and clearly nearer than every
question that was answered otherwise: so a new question between two known ones gets neither answer. (The margin between
the nearest neighbour and the nearest of another class tells better than nearness itself how sure the neighbour is;
compare the ratio test of Lowe, 2004.) Without vectors every word of meaning must have its counterpart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.semantic_cache.equivalence import Comparison, compare
from services.retrieval.semantic_cache.question_features import Reading, read
from services.retrieval.semantic_cache.settings import SimilarSettings

#: Words of a question in an explanation.
_SHOWN = 120


@dataclass(frozen=True)
class Candidate:
    """A question that was answered: `origin` is its id, `answer` says which answer it got (equal: the same one).

    `near` is the cosine of the two questions, from -1 to 1; None where they were not compared by vectors.
    """

    origin: str
    text: str
    answer: str
    near: float | None = None


@dataclass(frozen=True)
class Verdict:
    """`taken` is the question whose answer serves (None: there is none), `similarity` how alike, 0 to 1; `why` says how
    it was decided, `told` the same of each candidate that was looked at."""

    taken: Candidate | None
    similarity: float
    why: str
    told: tuple[tuple[Candidate, str], ...] = ()


def decide(text: str, language: str, candidates: Sequence[Candidate], settings: SimilarSettings) -> Verdict:
    """The verdict on the candidates, best first; `language` (ISO 639-3) is that of all of them."""
    if not candidates:
        return Verdict(None, 0.0, "nothing like it was answered before")
    asked = read(text, language)
    if not asked.content:
        return Verdict(None, 0.0, "it has no words of meaning")
    if candidates[0].near is not None and language in settings.near:
        return _by_nearness(asked, language, candidates, settings)
    return _by_words(asked, language, candidates, settings)


def _by_nearness(asked: Reading, language: str, candidates: Sequence[Candidate], settings: SimilarSettings) -> Verdict:
    best = max(candidates, key=lambda one: one.near or 0.0)
    near = best.near or 0.0
    kept = read(best.text, language)
    compared = compare(asked, kept)
    least = settings.near[language] + (settings.narrower if compared.narrows else 0.0)
    if near < least:
        why = f"not near enough: {near:.3f} of {least:.3f}"
    elif compared.differences:
        why = compared.differences[0]
    else:
        why = _between(best, kept, language, candidates, near - settings.margin)
    if why:
        return Verdict(None, near, why, ((best, why),))
    return Verdict(best, min(1.0, near), f"asks the same, {near:.3f} near", ((best, "taken"),))


def _between(best: Candidate, kept: Reading, language: str, candidates: Sequence[Candidate], least: float) -> str:
    """Whether another answer is nearly as near; one that was given to the same question in other words is no other."""
    for one in candidates:
        if one.answer == best.answer or (one.near or 0.0) <= least:
            continue
        if not _same(compare(kept, read(one.text, language))):
            return f"between two answers: {one.near:.3f} near to another one"
    return ""


def _by_words(asked: Reading, language: str, candidates: Sequence[Candidate], settings: SimilarSettings) -> Verdict:
    compared = [(one, compare(asked, read(one.text, language))) for one in candidates]
    same = [one for one, comparison in compared if _same(comparison)]
    told = tuple((one, "taken" if _same(comparison) else _why(comparison)) for one, comparison in compared)
    if not same:
        nearest, comparison = max(compared, key=lambda pair: pair[1].cover)
        return Verdict(None, comparison.cover, _why(comparison), ((nearest, _why(comparison)),))
    best = same[0]
    for one, comparison in compared:
        if one.answer != best.answer and comparison.cover >= settings.rival_cover:
            why = "between two answers: another one shares nearly as many words"
            return Verdict(None, comparison.cover, why, ((best, why),))
    return Verdict(best, 1.0, "asks the same in other words", tuple(pair for pair in told if pair[0] is best))


def _same(comparison: Comparison) -> bool:
    return not comparison.differences and not comparison.uncovered


def _why(comparison: Comparison) -> str:
    if comparison.differences:
        return comparison.differences[0]
    return f"no counterpart of {', '.join(comparison.uncovered)}"[:_SHOWN]
