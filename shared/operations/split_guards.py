"""When a split ends by itself: a candidate is surely worse than the live pipeline, at whichever look. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shared.contracts.experiments import ArmFigures, GuardName
from shared.operations.confidence_sequence import ALPHA, LEAST, Estimate, half_width, share_estimate

#: Shares of questions of which less is better.
MEASURES: tuple[GuardName, ...] = ("errors", "refutations", "slow", "thumbs_down")
#: The 95th percentile is above the limit where more than this share of the questions took longer.
SLOW_SHARE = 0.05


@dataclass(frozen=True)
class Breach:
    """A guard that halts the split, and the arm that is worse."""

    guard: GuardName
    arm: str
    reason: str


@dataclass(frozen=True)
class ArmContrast:
    """Candidate minus live of one measure; the interval holds at every look."""

    measure: GuardName
    arm: str
    candidate: Estimate
    live: Estimate

    @property
    def mean(self) -> float:
        return self.candidate.mean - self.live.mean

    @property
    def low(self) -> float:
        return self.candidate.low - self.live.high

    @property
    def high(self) -> float:
        return self.candidate.high - self.live.low

    @property
    def says(self) -> str:
        """`worse`, `better`, or `open` while the interval holds zero."""
        return "worse" if self.low > 0 else "better" if self.high < 0 else "open"


def differences(arms: Sequence[ArmFigures], alpha: float = ALPHA) -> list[ArmContrast]:
    """Each candidate beside the live pipeline, which is the first of the arms, in each measure.

    All of them together err in at most `alpha` of the experiments: the two intervals of each share its part.
    """
    live, *candidates = arms
    part = alpha / (2 * len(MEASURES) * max(1, len(candidates)))
    return [
        ArmContrast(measure, one.arm, _share(one, measure, part), _share(live, measure, part))
        for one in candidates
        for measure in MEASURES
    ]


def multiplicity(segments: int) -> str:
    """What many comparisons mean for each of them, in plain words; empty where there are none."""
    if not segments:
        return ""
    return (
        f"{segments} segments are compared, each with an error of five percent of its own: with arms that are equal, "
        f"up to {segments * ALPHA:.2g} of them may say otherwise. A difference in one segment is a reason to look, or "
        "for an experiment of its own, and no proof unless that segment was chosen before the start."
    )


def breach(arms: Sequence[ArmFigures], alpha: float = ALPHA) -> Breach | None:
    """The first guard that halts the experiment; None: it goes on."""
    for one in differences(arms, alpha):
        if one.low <= 0 or (one.measure == "slow" and one.candidate.low <= SLOW_SHARE):
            continue
        reason = (
            f"{one.measure} of {one.arm}: {one.candidate.mean:.1%} of {one.candidate.count} questions, live "
            f"{one.live.mean:.1%} of {one.live.count} (difference at least {one.low:+.1%})"
        )
        return Breach(one.measure, one.arm, reason)
    return None


#: How often something bad happens to a question, and after how many questions, in what is told before the start.
USUAL_SHARE, TOLD_AFTER = 0.05, (500, 2000, 10_000)


@dataclass(frozen=True)
class DetectableHarm:
    """After so many `questions` in all, `candidate` of them of the smallest arm, its guards find a share of `found`."""

    questions: int
    candidate: int
    found: float


def detectable_harms(live: float, candidates: Sequence[float]) -> list[DetectableHarm]:
    """What the guards can find for the smallest of the candidates; `live` and `candidates` are shares of the questions.

    Where `USUAL_SHARE` of the live answers fail, four of five splits halt a candidate of which `found` fail. Numbers of
    questions that are too few for any interval are left out.
    """
    found = []
    for questions in TOLD_AFTER:
        of_live, of_candidate = max(1, round(questions * live)), max(1, round(questions * min(candidates)))
        if min(of_live, of_candidate) >= LEAST:
            more = detectable_share(of_live, of_candidate, USUAL_SHARE, len(candidates))
            found.append(DetectableHarm(questions, of_candidate, round(USUAL_SHARE + more, 4)))
    return found


def detectable_share(live: int, candidate: int, base: float, candidates: int = 1, alpha: float = ALPHA) -> float:
    """How much more often than `base` something must happen to a candidate for its guard to halt four of five splits.

    `live` and `candidate` are numbers of questions.
    """
    part = alpha / (2 * len(MEASURES) * max(1, candidates))
    of_live, more = base * (1 - base), 0.0
    for _ in range(50):  # the deviation of the candidate grows with the difference, and converges
        worse = min(base + more, 0.5)
        of_candidate = worse * (1 - worse)
        widths = math.sqrt(of_live + 1 / live) * half_width(live, part)
        widths += math.sqrt(of_candidate + 1 / candidate) * half_width(candidate, part)
        more = min(1 - base, widths + 0.84 * math.sqrt(of_live / live + of_candidate / candidate))
    return more


def _share(figures: ArmFigures, measure: GuardName, alpha: float) -> Estimate:
    return share_estimate(getattr(figures, measure), figures.questions, alpha)
