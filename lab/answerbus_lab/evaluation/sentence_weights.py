"""Fits the weights of the extractive engine's features to questions with known answers.

A listwise model: the probability of a statement is the softmax of its weighted features over all statements of the
passages, which maximises the probability of statements that say the answer (Cao et al., 2007). A penalty keeps the
weights near those set by hand, so that a feature that the questions tell little of keeps its weight. No weight falls
below 0: each feature is made to speak for a statement, and the opposite would be an accident of the questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import NamedTuple

from answerbus_lab.evaluation.answers import AskedCase, ask_all, half_of, says_expected
from shared.contracts.domain import Passage
from shared.contracts.errors import RefusedError
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings

#: Statements of a question that are learned from, besides those that are right.
_LEADING = 24
#: The fewest questions that weights are fitted to.
_FEWEST = 50
#: How strongly a weight is kept near its value before training, per question.
_PENALTY = 0.0005
_STEPS, _STEP = 240, 0.1

Describer = Callable[[str, str, Sequence[Passage]], list[tuple[str, str, Mapping[str, float]]]]


class Choice(NamedTuple):
    """The features of a question's statements, and which of them say the answer."""

    features: tuple[tuple[float, ...], ...]
    right: tuple[bool, ...]


async def choices(
    folder: Path, pipeline: Pipeline, settings: Settings, describe: Describer, names: Sequence[str]
) -> dict[str, list[Choice]]:
    """The choices of each half of the questions, see `half_of`; raises as `evaluate`.

    Left out are questions that the documents do not answer, and questions without a right statement in their passages.
    """
    halves: dict[str, list[Choice]] = {"development": [], "held-out": []}
    async for asked in ask_all(folder, pipeline, settings):
        choice = _choice(asked, describe, names)
        if choice is not None:
            halves[half_of(asked.case)].append(choice)
    return halves


def _choice(asked: AskedCase, describe: Describer, names: Sequence[str]) -> Choice | None:
    case, retrieved = asked.case, asked.retrieved
    if not case.answerable or retrieved is None:
        return None
    question = retrieved.question
    described = describe(question.standalone_text(retrieved.context), question.search_language, retrieved.passages)
    features, right = [], []
    for rank, (source, text, values) in enumerate(described):
        says = source == f"kb:{case.source}" and says_expected(case, text)
        if says or rank < _LEADING:
            features.append(tuple(values.get(name, 0.0) for name in names))
            right.append(says)
    return Choice(tuple(features), tuple(right)) if any(right) else None


def fit_weights(
    learned: Sequence[Choice], prior: Mapping[str, float], untrained: Collection[str] = ()
) -> dict[str, float]:
    """The fitted weights; `untrained` features keep theirs.

    Found by gradient ascent with adapted steps (Kingma and Ba, 2015).

    Raises:
        RefusedError: fewer than 50 questions have a right statement.
    """
    if len(learned) < _FEWEST:
        raise RefusedError(f"only {len(learned)} questions have a sentence that answers them; it takes {_FEWEST}")
    scales = _deviations(learned, len(prior))
    moves = [bool(scale) and name not in untrained for name, scale in zip(prior, scales, strict=True)]
    start = [weight * scale for weight, scale in zip(prior.values(), scales, strict=True)]
    scaled = [Choice(tuple(tuple(map(_divided, row, scales)) for row in each.features), each.right) for each in learned]
    weights, momentum, energy = list(start), [0.0] * len(start), [0.0] * len(start)
    for step in range(1, _STEPS + 1):
        pull = [
            _PENALTY * len(learned) * (first - now) / (scale * scale) if scale else 0.0
            for first, now, scale in zip(start, weights, scales, strict=True)
        ]
        slope = _gradient(scaled, weights)
        size = _STEP if step < 0.7 * _STEPS else _STEP / 10
        for at, each in enumerate(map(float.__add__, slope, pull)):
            momentum[at] = 0.9 * momentum[at] + 0.1 * each
            energy[at] = 0.99 * energy[at] + 0.01 * each * each
            change = momentum[at] / (1 - 0.9**step) / (math.sqrt(energy[at] / (1 - 0.99**step)) + 1e-9)
            weights[at] = max(0.0, weights[at] + size * change) if moves[at] else weights[at]
    return {
        name: round(weight / scale, 2) if move else prior[name]
        for name, weight, scale, move in zip(prior, weights, scales, moves, strict=True)
    }


def accuracy(judged: Sequence[Choice], weights: Mapping[str, float]) -> float:
    """The share of the questions with a right statement as the most probable one."""
    factors = tuple(weights.values())
    right = 0
    for choice in judged:
        scores = [sum(map(mul, row, factors)) for row in choice.features]
        right += choice.right[scores.index(max(scores))]
    return round(right / len(judged), 4) if judged else 0.0


def _gradient(learned: Sequence[Choice], weights: Sequence[float]) -> list[float]:
    """The slope of the logarithm of the probability of right statements, by weight."""
    slope = [0.0] * len(weights)
    for choice in learned:
        scores = [sum(map(mul, row, weights)) for row in choice.features]
        highest = max(scores)
        exponents = [math.exp(score - highest) for score in scores]
        whole = sum(exponents)
        rightly = sum(exponent for exponent, right in zip(exponents, choice.right, strict=True) if right) or 1e-300
        for row, exponent, right in zip(choice.features, exponents, choice.right, strict=True):
            pull = (exponent / rightly if right else 0.0) - exponent / whole
            if abs(pull) > 1e-4:
                for at, value in enumerate(row):
                    if value:
                        slope[at] += pull * value
    return slope


def _deviations(learned: Sequence[Choice], width: int) -> list[float]:
    """The standard deviation of each feature; 0 where it never differs."""
    rows = [row for choice in learned for row in choice.features]
    found = []
    for at in range(width):
        values = [row[at] for row in rows]
        mean = sum(values) / len(values)
        found.append(math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)))
    return [weight if weight > 1e-6 else 0.0 for weight in found]


def _divided(value: float, scale: float) -> float:
    return value / scale if scale else 0.0
