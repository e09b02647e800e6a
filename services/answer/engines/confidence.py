"""Whether the passages answer a question at all, and how probable it is that the chosen statements are right. Pure.

Both are logistic models of a few figures. They were fitted to half of the articles of a reading test in English,
Spanish and German (answerable and unanswerable questions) and to questions about software documentation; `answerbus
train confidence` fits `AnswerSettings.confidence_slope` and `confidence_offset` to your own questions (Platt, 1999).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.answer.engines.related_terms import shares
from services.answer.engines.sentence_ranking import RankedStatement, Reading

#: terms     log(1 + stems of the question)           score    the weighted sum of the first statement, divided by ten
#: covered   the share that it says                   lexical  the best BM25 score, see `Context.lexical_score`
#: found     the share that all passages say          unsaid   the share of the stems that no passage says
#: exact     the share of the stems that the passage of the first statement says in the same form
#: passage   the share that this passage says
#: mass      the probability of the chosen statements together          union  the share of the stems that they say
ANSWERED: Mapping[str, float] = {
    "score": 2.71,
    "covered": 3.16,
    "lexical": 3.24,
    "found": 0.61,
    "unsaid": -0.74,
    "passage": 0.52,
}
RIGHT: Mapping[str, float] = {"terms": 0.73, "score": 0.6, "covered": 0.68, "exact": 0.3, "mass": 2.42, "union": 1.07}
ANSWERED_OFFSET, RIGHT_OFFSET = -8.36, -3.68
#: The same as `ANSWERED` where no search by words was made: passages of the web, whole documents, meaning alone.
ANSWERED_UNSEARCHED: Mapping[str, float] = {
    "terms": 3.7,
    "score": 5.07,
    "covered": 3.54,
    "exact": 2.97,
    "found": 0.66,
    "unsaid": -1.54,
    "passage": 1.15,
}
ANSWERED_UNSEARCHED_OFFSET = -11.99
#: A stem counts as said from this likeness on.
_SAID, _SAME = 0.6, 0.99


class Judgement(NamedTuple):
    """How probable it is that the passages answer the question (`answerable`), and that the answer is right (`right`).

    `figures` are what the two follow from.
    """

    answerable: float
    right: float
    figures: Mapping[str, float]


def judge(reading: Reading, chosen: Sequence[RankedStatement], lexical_score: float) -> Judgement:
    """The judgement of an answer made of these statements; both probabilities are 0 when there is none.

    `lexical_score` is that of `Context`; 0: unknown.
    """
    if not chosen or not reading.query.terms:
        return Judgement(0.0, 0.0, {})
    figures = {**_figures(reading, chosen), "lexical": lexical_score}
    if lexical_score:
        answerable = _logistic(ANSWERED, ANSWERED_OFFSET, figures)
    else:
        answerable = _logistic(ANSWERED_UNSEARCHED, ANSWERED_UNSEARCHED_OFFSET, figures)
    return Judgement(answerable, _logistic(RIGHT, RIGHT_OFFSET, figures), figures)


def _figures(reading: Reading, chosen: Sequence[RankedStatement]) -> dict[str, float]:
    query, first = reading.query, chosen[0]
    evidence, count = first.evidence, len(query.terms)
    whole = [max(pair) for pair in zip(evidence.says, evidence.titled, strict=True)]
    anywhere = [max(each) for each in zip(*(one.says for one in reading.evidence), strict=True)]
    anywhere = [max(each) for each in zip(anywhere, *(one.titled for one in reading.evidence), strict=True)]
    same_source = (one for one in chosen if one.evidence.passage.source == evidence.passage.source)
    quoted = frozenset().union(*(one.statement.stems for one in same_source))
    union = [max(pair) for pair in zip(shares(query.related, quoted), evidence.titled, strict=True)]
    return {
        "terms": math.log(1 + count),
        "score": first.score / 10,
        "covered": first.features["covered"],
        "found": query.share(anywhere),
        "unsaid": sum(one < _SAID for one in anywhere) / count,
        "exact": sum(one >= _SAME for one in whole) / count,
        "passage": query.share(whole),
        "mass": sum(one.probability for one in chosen),
        "union": sum(union) / count,
    }


def calibrated(probability: float, slope: float, offset: float) -> float:
    """The probability on another scale: slope and offset in log-odds; 1 and 0 leave it as it is."""
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-(slope * math.log(bounded / (1 - bounded)) + offset)))


def _logistic(weights: Mapping[str, float], offset: float, figures: Mapping[str, float]) -> float:
    return 1 / (1 + math.exp(-(offset + sum(weight * figures[name] for name, weight in weights.items()))))
