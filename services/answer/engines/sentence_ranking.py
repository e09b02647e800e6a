"""The ranking of the extractive engine: which statements answer the question, and how well. Pure.

A question is the set of its stems without question words, each weighted by its inverse frequency among the statements
of the passages (idf). A statement's worth is the weighted share of the question that it covers, where its title counts
less, times the relative search score of its passage. Where a title asks nearly the same question, statements near the
top of that passage get a bonus, because the answer begins there.

Whether the evidence suffices is decided without weights, by the one source that covers most of the question: halves
from different sources are how wrong answers come about.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from services.answer.engines.statements import Statement, statements
from shared.contracts.domain import Passage
from shared.text.analysis import stem_set
from shared.text.languages import UNKNOWN

#: The weight of a word that only the title of a statement contains.
TITLE_SHARE = 0.4
#: A title that is similar to the question by this much asks the same question.
SAME_QUESTION = 0.75
#: The share of a statement's worth that does not depend on the search score of its passage.
STANDING_FLOOR = 0.6
#: Statements worth less than this share of the best one are left out.
WORTH_ADDING = 0.45
#: Two statements that share this much of their stems (Jaccard) are duplicates.
SAME_STATEMENT = 0.8

#: Stems of words that ask or greet; they carry nothing of the question's topic.
ASKING = frozenset({
    "explain", "find", "get", "give", "go", "hello", "help", "hi", "know", "like", "make", "mani", "much", "need",
    "pleas", "please", "tell", "thank", "use", "want",
    "bonjour", "combien", "dir", "expliqu", "merc", "merci", "plait", "savoir", "veux", "voudr",
})  # fmt: skip


class QueryTerms(NamedTuple):
    """The question's stems and what each weighs."""

    weights: dict[str, float]
    total: float

    def share(self, found: frozenset[str]) -> float:
        """The weighted share of the question among these stems, 0 to 1; 0 for a question without stems."""
        if not self.total:
            return 0.0
        return sum(weight for stem, weight in self.weights.items() if stem in found) / self.total

    def covered(self, found: frozenset[str]) -> float:
        """The plain share of the question's stems among these, 0 to 1."""
        return len(self.weights.keys() & found) / len(self.weights) if self.weights else 0.0


class Evidence(NamedTuple):
    """A passage as the judgement reads it.

    `standing` is its search score as a share of the best one's; `same_question` how nearly its title is the question;
    `opens` says that no earlier passage of the same title is at hand.
    """

    rank: int
    passage: Passage
    title: frozenset[str]
    same_question: float
    standing: float
    opens: bool
    statements: tuple[Statement, ...]


class RankedStatement(NamedTuple):
    """A chosen statement, its evidence and its worth."""

    evidence: Evidence
    statement: Statement
    worth: float


def read(question: str, language: str, passages: Sequence[Passage]) -> tuple[QueryTerms, list[Evidence]]:
    """The question and the passages in its terms. Passages in other languages than the best one's are left out."""
    spoken = [passage.language if passage.language != UNKNOWN else language for passage in passages]
    chosen = [(rank, passage) for rank, passage in enumerate(passages) if spoken[rank] == spoken[0]]
    best = max((passage.score for _, passage in chosen), default=0.0)
    stated = [statements(p.text, spoken[0], continues=p.start > 0) for _, p in chosen]
    query = weigh(stem_set(question, spoken[0] if spoken else language), stated)
    begins: dict[tuple[str, str], int] = {}
    for _, passage in chosen:
        key = (passage.source, passage.title)
        begins[key] = min(passage.start, begins.get(key, passage.start))
    evidence = []
    for (rank, passage), found in zip(chosen, stated, strict=True):
        opens = passage.start == begins[passage.source, passage.title]
        standing = passage.score / best if best > 0 else 1 / (1 + rank)
        same = same_question(query, passage.title, spoken[0])
        title = stem_set(passage.title, spoken[0])
        evidence.append(Evidence(rank, passage, title, same, max(0.0, min(1.0, standing)), opens, found))
    return query, evidence


def weigh(question: frozenset[str], stated: Sequence[Sequence[Statement]]) -> QueryTerms:
    """Weight of each stem: log(1 + statements / (statements that say it + 1)); one that none says weighs most."""
    question = question - ASKING or question
    said = [statement.stems for found in stated for statement in found]
    count = Counter(stem for stems_ in said for stem in stems_ & question)
    weights = {stem: math.log(1 + (len(said) + 1) / (count[stem] + 1)) for stem in question}
    return QueryTerms(weights, sum(weights.values()))


def same_question(query: QueryTerms, title: str, language: str) -> float:
    """How nearly a title, or the part of it after a dash, is the question: 0 to 1 (Dice, weighted).

    Passages carry `document title — heading`; either may be the question of a list of questions and answers.
    """
    best = 0.0
    for part in {title, *title.split(" — ")}:
        found = stem_set(part, language)
        if not found:
            continue
        shared = sum(query.weights[stem] for stem in found if stem in query.weights)
        typical = query.total / len(query.weights) if query.weights else 1.0
        whole = query.total + sum(query.weights.get(stem, typical) for stem in found)
        best = max(best, 2 * shared / whole)
    return best


def choose(query: QueryTerms, evidence: Sequence[Evidence], *, most: int, longest: int) -> list[RankedStatement]:
    """The best statements, at most `most` and `longest` characters together, in reading order.

    Reading order: the passage that asks the same question first, then by rank; within a passage as it stands there.
    """
    ranked = sorted(
        (
            RankedStatement(found, statement, worth(query, found, statement))
            for found in evidence
            for statement in found.statements
        ),
        key=lambda choice: (-choice.worth, choice.evidence.rank, choice.statement.start),
    )
    taken: list[RankedStatement] = []
    length = 0
    for choice in ranked:
        if len(taken) == most or choice.worth <= 0 or (taken and choice.worth < WORTH_ADDING * taken[0].worth):
            break
        if length + len(choice.statement.text) > longest or any(_same(choice, other) for other in taken):
            continue
        taken.append(choice)
        length += len(choice.statement.text)
    lead = taken[0].evidence.rank if taken and taken[0].evidence.same_question >= SAME_QUESTION else -1
    return sorted(taken, key=lambda c: (c.evidence.rank != lead, c.evidence.rank, c.statement.start))


def worth(query: QueryTerms, found: Evidence, statement: Statement) -> float:
    """What a statement is worth to the question: 0 and up, rarely above 2."""
    spoken = query.share(statement.stems)
    titled = query.share(found.title | statement.stems) - spoken
    value = (spoken + TITLE_SHARE * titled) * (STANDING_FLOOR + (1 - STANDING_FLOOR) * found.standing)
    if found.same_question >= SAME_QUESTION and found.opens:
        value += found.same_question * max(0.0, 1 - 0.15 * statement.position)
    return value


def coverage(query: QueryTerms, choices: Sequence[RankedStatement]) -> float:
    """The share of the question's stems in the chosen statements and titles of the one source that has most, 0 to 1."""
    said: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for choice in choices:
        said[choice.evidence.passage.source] |= choice.statement.stems | choice.evidence.title
    return max((query.covered(found) for found in said.values()), default=0.0)


def confidence(query: QueryTerms, evidence: Sequence[Evidence], choices: Sequence[RankedStatement]) -> float:
    """From 0 to 10, to one decimal: six parts coverage, two parts margin, two parts agreement.

    Margin: how far the best passage cited stands above the middle of the field, or how nearly its title is the
    question if that is more. Agreement: the share of the question that at least two passages speak of, and no less
    than half the coverage, since one page that says it all under its own title needs no second.
    """
    if not choices:
        return 0.0
    covered = coverage(query, choices)
    standings = sorted(found.standing for found in evidence)
    lead = max(choice.evidence.standing for choice in choices)
    margin = max(lead - standings[len(standings) // 2], *(choice.evidence.same_question for choice in choices))
    speakers = Counter(
        stem for found in evidence for stem in found.title.union(*(statement.stems for statement in found.statements))
    )
    agreed = query.covered(frozenset(stem for stem, count in speakers.items() if count > 1))
    return round(6 * covered + 2 * margin + 2 * max(agreed, covered / 2), 1)


def _same(one: RankedStatement, other: RankedStatement) -> bool:
    a, b = one.statement.stems, other.statement.stems
    if one.statement.text == other.statement.text:
        return True
    return bool(a and b) and len(a & b) / len(a | b) >= SAME_STATEMENT
