"""The mean of a measure with an interval that stays valid however often one looks at it. Pure.

An ordinary 95 % interval is for one look at the end: who looks after every fifty questions and stops at the first
difference finds one between equal pipelines far more often than in 5 of 100 experiments. A confidence sequence covers
the mean at all times together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: The share of experiments in which an interval may ever miss the mean.
ALPHA = 0.05
#: The intervals are narrowest at about this many observations.
TUNED_FOR = 200
#: Observations before which nothing is said: the sequence is valid for large numbers.
LEAST = 20


@dataclass(frozen=True)
class Estimate:
    """The mean of `count` observations and its interval; without bounds while there are fewer than `LEAST`.

    `deviation` is the standard deviation of the observations.
    """

    count: int
    mean: float
    low: float
    high: float
    deviation: float = 0.0

    @property
    def above(self) -> bool:
        """Whether the mean is above zero, at any time of looking."""
        return self.low > 0

    @property
    def below(self) -> bool:
        return self.high < 0


def estimate(values: Sequence[float], alpha: float = ALPHA) -> Estimate:
    """The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (Time-uniform central limit
    theory and asymptotic confidence sequences, Annals of Statistics 2024, equation 11), two-sided.

    The variance is taken with one more observation as far from the mean as the observations lie apart: the first of a
    kind, such as a failure after twenty answers, proves nothing.
    """
    count = len(values)
    if not count:
        return Estimate(0, 0.0, -math.inf, math.inf)
    mean = sum(values) / count
    squares = sum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / count)
    if count < LEAST:
        return Estimate(count, mean, -math.inf, math.inf, deviation)
    half = math.sqrt((squares + _spread(values)) / count) * half_width(count, alpha)
    return Estimate(count, mean, mean - half, mean + half, deviation)


def half_width(count: int, alpha: float = ALPHA) -> float:
    """Half the width of the interval after `count` observations of deviation 1."""
    tuning = _tuning(alpha)
    scaled = count * tuning**2 + 1
    return math.sqrt(2 * scaled / (count * tuning) ** 2 * math.log(math.sqrt(scaled) / alpha))


def detectable(count: int, deviation: float, alpha: float = ALPHA) -> float:
    """The smallest true difference that `count` observations of this deviation show in four of five experiments.

    The interval must leave zero on one side, and the mean is normal around the true difference: 0.84 standard errors.
    """
    return deviation * (half_width(count, alpha) + 0.84 / math.sqrt(count))


def _tuning(alpha: float) -> float:
    """The parameter for which the interval is narrowest at `TUNED_FOR` (approximation of their section B.1)."""
    return math.sqrt((-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / TUNED_FOR)


def _spread(values: Sequence[float]) -> float:
    """The squared range of the observations, at least a tenth of the largest."""
    reach = max(values) - min(values)
    return max(reach, abs(max(values, key=abs)) * 0.1, 1e-6) ** 2
