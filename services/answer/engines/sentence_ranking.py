"""The ranking of the extractive engine: how probable it is that a statement answers the question. Pure.

A question is the set of its stems without question words, each weighted by its rarity among the statements of the
passages. Each statement is described by a few features (`FEATURES`), and their weighted sums become probabilities by a
softmax over all statements, as in a listwise ranking model (Cao et al., 2007). The weights were fitted to half of the
documents of a reading test in English, Spanish and German; those of titles and instructions stay as they were set by
hand, because that test has none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import NamedTuple

from services.answer.engines.question_type import (
    AnswerKind,
    contains,
    focus_words,
    kind_of,
    named_words,
    price_words,
    shows_unit,
)
from services.answer.engines.related_terms import GramIndex, Related, related_stems, shares
from services.answer.engines.statements import Statement, statements
from shared.contracts.domain import Passage
from shared.text.analysis import stem_set, stems
from shared.text.languages import UNKNOWN

#: What is known of a statement. Shares are those of the question's weighted stems.
#:
#: covered  the share that the statement says          plain    the same, each stem counted alike
#: exact    the same, counting only stems in the question's own form
#: focus    how nearly it says what the answer is one of (`which X`)
#: grams    the share of the stems' pieces of four characters that it has, which finds parts of compounds
#: before   what only the statement before it says      after    what only the statement after it says
#: referred `before`, where the statement begins by referring back (`it`, `this`)
#: grams_before  the pieces that only the statement before it has
#: passage  the share that the passage and its title say
#: title    what only the title of the passage says     asked    the title is the question, and the statement is near it
#: kind     1 if it has what the question asks for (a time, an amount, …), -1 if it lacks it, 0 if nothing is known
#: method   the same of questions for a way to do something
#: unit     the same of the unit that the question asks for (a percentage, a duration, a year, money)
#: standing the search score of its passage, as a share of the best one's; `first`: its passage is the best one
#: language -1 if it is in another language than the question
#:
#: These are the weights before any training. Those used are in `sentence_weights.json`, see `train sentences`.
PRIOR: Mapping[str, float] = {
    "covered": 3.9,
    "plain": 3.3,
    "exact": 0.0,
    "focus": 0.0,
    "grams": 0.0,
    "before": 1.9,
    "after": 0.0,
    "referred": 0.0,
    "grams_before": 0.0,
    "passage": 2.3,
    "title": 3.0,
    "asked": 15.0,
    "kind": 0.5,
    "method": 0.7,
    "unit": 0.0,
    "standing": 1.9,
    "first": 0.4,
    "language": 2.0,
}
FEATURES = tuple(PRIOR)
#: Training leaves these as they are: the reading test has no titles that are questions, and no instructions.
UNTRAINED = frozenset({"title", "asked", "method"})
WEIGHTS: Mapping[str, float] = {**PRIOR, **json.loads(Path(__file__).with_name("sentence_weights.json").read_text())}

#: A title that is similar to the question by this much asks the same question.
SAME_QUESTION = 0.75
#: A further statement is added for at least this probability per hundred characters (the default of
#: `AnswerSettings.sentence_worth`); short ones count as so long.
WORTH, SHORT = 0.15, 80
#: What a standard deviation of a model's scores weighs (set by hand), and how many deviations count at most.
MEANING, _FAR = 1.0, 3.0
#: The first statements of the ranking that may be added.
CONSIDERED = 8
#: Two statements that share this much of their stems (Jaccard) are duplicates.
SAME_STATEMENT = 0.8
#: How nearly a stem must be that of the question to count as said, and as said in the same form.
_SAID, _SAME = 0.6, 0.99

#: Stems of words that ask or greet; they carry nothing of the question's topic.
ASKING = frozenset({
    "explain", "find", "get", "give", "go", "hello", "help", "hi", "know", "like", "make", "mani", "much", "need",
    "pleas", "please", "tell", "thank", "use", "want",
    "bonjour", "combien", "dir", "expliqu", "merc", "merci", "plait", "savoir", "veux", "voudr",
})  # fmt: skip
_NUMBER = re.compile(r"\d+")


class QueryTerms(NamedTuple):
    """The question's stems in their order, what each weighs, and the stems of the passages that are related to each."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    related: tuple[Related, ...]
    focus: tuple[bool, ...]
    named: tuple[bool, ...]
    grams: GramIndex
    kind: AnswerKind
    numbers: frozenset[str]
    text: str
    total: float

    def share(self, said: Sequence[float]) -> float:
        """The weighted share of the question, 0 to 1; `said` is how nearly each term is said."""
        return sum(map(mul, self.weights, said)) / self.total if self.total else 0.0


class Evidence(NamedTuple):
    """A passage as the reader sees it; `titled` and `says` are how nearly its title and its text say each term."""

    rank: int
    passage: Passage
    language: str
    standing: float
    same_question: float
    opens: bool
    statements: tuple[Statement, ...]
    titled: tuple[float, ...]
    says: tuple[float, ...]


class RankedStatement(NamedTuple):
    """A statement with its features, their weighted sum, and the probability that it is the one to quote."""

    evidence: Evidence
    statement: Statement
    features: Mapping[str, float]
    score: float
    probability: float = 0.0


class Reading(NamedTuple):
    """Everything a question and its passages amount to: the statements, the most probable first."""

    query: QueryTerms
    evidence: tuple[Evidence, ...]
    ranked: tuple[RankedStatement, ...]


def read(question: str, language: str, passages: Sequence[Passage]) -> Reading:
    """Rank all statements of the passages."""
    spoken = [passage.language if passage.language != UNKNOWN else language for passage in passages]
    stated = [statements(p.text, code, continues=p.start > 0) for p, code in zip(passages, spoken, strict=True)]
    titles = [stem_set(passage.title, code) for passage, code in zip(passages, spoken, strict=True)]
    query = _query(question, language, spoken, stated, titles)
    evidence = _evidence(query, passages, spoken, stated, titles)
    described = [(found, statement, features) for found in evidence for statement, features in _described(query, found)]
    if language != UNKNOWN and any(found.language == language for found in evidence):
        for found, _, features in described:
            features["language"] = 0.0 if found.language == language else -1.0
    ranked = [
        RankedStatement(found, statement, features, sum(WEIGHTS[name] * value for name, value in features.items()))
        for found, statement, features in described
    ]
    return Reading(query, tuple(evidence), _probable(ranked))


def rescored(reading: Reading, scores: Sequence[float]) -> Reading:
    """The reading after a model has scored its first statements, in their order.

    Scores count by their distance from the mean of these statements in standard deviations, so that the model's scale
    does not matter. A statement that was not scored counts as the worst of them.
    """
    mean = sum(scores) / max(1, len(scores))
    spread = math.sqrt(sum((score - mean) ** 2 for score in scores) / max(1, len(scores)))
    if not spread:
        return reading
    meanings = [max(-_FAR, min(_FAR, (score - mean) / spread)) for score in scores]
    meanings += [min(meanings)] * (len(reading.ranked) - len(meanings))
    ranked = [
        one._replace(features={**one.features, "meaning": meaning}, score=one.score + MEANING * meaning)
        for one, meaning in zip(reading.ranked, meanings, strict=True)
    ]
    return reading._replace(ranked=_probable(ranked))


def _probable(ranked: Sequence[RankedStatement]) -> tuple[RankedStatement, ...]:
    """The statements with their probabilities, the most probable first."""
    highest = max((one.score for one in ranked), default=0.0)
    exponents = [math.exp(one.score - highest) for one in ranked]
    total = sum(exponents)
    found = [one._replace(probability=each / total) for one, each in zip(ranked, exponents, strict=True)]
    return tuple(sorted(found, key=lambda one: (-one.score, one.evidence.rank, one.statement.start)))


def question_terms(question: str, language: str) -> tuple[str, ...]:
    """The stems of the question in their order, without those that only ask; all of them if no other is left."""
    found = tuple(dict.fromkeys(stems(question, language)))
    return tuple(stem for stem in found if stem not in ASKING) or found


def _query(
    question: str,
    language: str,
    spoken: Sequence[str],
    stated: Sequence[Sequence[Statement]],
    titles: Sequence[frozenset[str]],
) -> QueryTerms:
    """The question in the terms of the passages.

    A stem weighs log(1 + statements / (statements that say it + 1)); one that none says weighs most.
    """
    code = language if language in spoken or not spoken else spoken[0]
    terms, kind = question_terms(question, code), kind_of(question)
    if kind == AnswerKind.AMOUNT:
        prices = set(stems(" ".join(price_words(question)), code))
        terms = tuple(stem for stem in terms if stem not in prices) or terms
    said = [statement.stems for found in stated for statement in found]
    related = tuple(related_stems(terms, frozenset().union(*said, *titles)))
    counts = [sum(not each.keys().isdisjoint(one) for one in said) for each in related]
    weights = tuple(math.log(1 + (len(said) + 1) / (count + 1)) for count in counts)
    asked_of = stems(focus_words(question), code)[:1]
    focus = tuple(term in asked_of for term in terms)
    names = stem_set(" ".join(named_words(question)), code)
    named = tuple(term in names for term in terms)
    grams = GramIndex(terms, said, titles)
    numbers = frozenset(_NUMBER.findall(question))
    return QueryTerms(terms, weights, related, focus, named, grams, kind, numbers, question, sum(weights))


def _evidence(
    query: QueryTerms,
    passages: Sequence[Passage],
    spoken: Sequence[str],
    stated: Sequence[tuple[Statement, ...]],
    titles: Sequence[frozenset[str]],
) -> list[Evidence]:
    best = max((passage.score for passage in passages), default=0.0)
    begins: dict[tuple[str, str], int] = {}
    for passage in passages:
        key = (passage.source, passage.title)
        begins[key] = min(passage.start, begins.get(key, passage.start))
    evidence = []
    for rank, passage in enumerate(passages):
        said = frozenset().union(*(statement.stems for statement in stated[rank]))
        standing = passage.score / best if best > 0 else 1 / (1 + rank)
        evidence.append(
            Evidence(
                rank=rank,
                passage=passage,
                language=spoken[rank],
                standing=max(0.0, min(1.0, standing)),
                same_question=same_question(query, passage.title, spoken[rank]),
                opens=passage.start == begins[passage.source, passage.title],
                statements=stated[rank],
                titled=tuple(shares(query.related, titles[rank])),
                says=tuple(shares(query.related, said)),
            )
        )
    return evidence


def _described(query: QueryTerms, found: Evidence) -> list[tuple[Statement, dict[str, float]]]:
    """The statements of a passage with their features."""
    silent, nothing = [0.0] * len(query.terms), frozenset[str]()
    whole = [max(one, other) for one, other in zip(found.says, found.titled, strict=True)]
    of_passage = {
        "passage": query.share(whole),
        "title": query.share(_beyond(found.titled, found.says)),
        "standing": found.standing,
        "first": float(found.rank == 0),
    }
    said = [shares(query.related, statement.stems) for statement in found.statements]
    grams = [query.grams.found(statement.stems) for statement in found.statements]
    asked = found.same_question if found.same_question >= SAME_QUESTION and found.opens else 0.0
    described = []
    for at, statement in enumerate(found.statements):
        own, before = said[at], said[at - 1] if at else silent
        known = [max(one, other) for one, other in zip(own, before, strict=True)]
        only_before = query.share(_beyond(before, own))
        features = {
            "covered": query.share(own),
            "plain": sum(own) / len(own) if own else 0.0,
            "exact": sum(one >= _SAME for one in own) / len(own) if own else 0.0,
            "focus": max((one for one, focus in zip(own, query.focus, strict=True) if focus), default=0.0),
            "grams": query.grams.share(grams[at]),
            "before": only_before,
            "after": query.share(_beyond(said[at + 1], known)) if at + 1 < len(said) else 0.0,
            "referred": only_before if statement.refers else 0.0,
            "grams_before": query.grams.share((grams[at - 1] if at else nothing) - grams[at]),
            **of_passage,
            "asked": asked * max(0.0, 1 - 0.15 * statement.position),
            **_kinds(query, statement),
        }
        described.append((statement, features))
    return described


def _beyond(these: Sequence[float], those: Sequence[float]) -> list[float]:
    return [one - other if one > other else 0.0 for one, other in zip(these, those, strict=True)]


def _kinds(query: QueryTerms, statement: Statement) -> dict[str, float]:
    """Whether the statement has what the question asks for: the features `kind`, `method` and `unit`."""
    unit = shows_unit(query.text, statement.text)
    if query.kind == AnswerKind.OTHER:
        return {"kind": 0.0, "method": 0.0, "unit": unit}
    value = 1.0 if contains(query.kind, statement.text) else -1.0
    numbers = _NUMBER.findall(statement.text)
    if query.kind == AnswerKind.AMOUNT and numbers and query.numbers.issuperset(numbers):
        value = -1.0
    method = query.kind == AnswerKind.METHOD
    return {"kind": 0.0 if method else value, "method": value if method else 0.0, "unit": unit}


def same_question(query: QueryTerms, title: str, language: str) -> float:
    """How nearly a title, or the part of it after a dash, is the question: 0 to 1 (Dice, weighted).

    Passages carry `document title — heading`; either may be the question of a list of questions and answers.
    """
    best, total = 0.0, sum(query.weights)
    typical = total / len(query.terms) if query.terms else 1.0
    for part in {title, *title.split(" — ")}:
        found = stem_set(part, language)
        if not found:
            continue
        said = shares(query.related, found)
        shared = sum(weight * one for weight, one in zip(query.weights, said, strict=True))
        matched = sum(one >= _SAID for one in said)
        whole = total + shared + typical * max(0, len(found) - matched)
        best = max(best, min(1.0, 2 * shared / whole) if whole else 0.0)
    return best


def choose(reading: Reading, *, most: int, longest: int, worth: float = WORTH) -> list[RankedStatement]:
    """The shortest sufficient answer: the most probable statement, then others that are worth their length.

    At most `most` statements and `longest` characters together. The most probable one comes first, the others follow
    in the order of their passages. A statement is added if its probability is at least `worth` per hundred characters:
    among all answers of the same mean length, that contains the right statement most often.
    """
    chosen: list[RankedStatement] = []
    length = 0
    for one in reading.ranked[:CONSIDERED]:
        size = len(one.statement.text)
        if len(chosen) == most:
            break
        if length + size > longest or (chosen and 100 * one.probability < worth * max(size, SHORT)):
            continue
        if any(_same(one, other) for other in chosen):
            continue
        chosen.append(one)
        length += size
    return [*chosen[:1], *sorted(chosen[1:], key=lambda one: (one.evidence.rank, one.statement.start))]


def _same(one: RankedStatement, other: RankedStatement) -> bool:
    a, b = one.statement.stems, other.statement.stems
    if one.statement.text == other.statement.text:
        return True
    return bool(a and b) and len(a & b) / len(a | b) >= SAME_STATEMENT
