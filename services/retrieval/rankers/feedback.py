"""Feedback on answers from a source moves its passages a little up or down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section

NAME = "feedback"
#: After this many days a vote has half its weight.
HALF_LIFE_DAYS = 90.0


class FeedbackSettings(Section):
    """How much feedback counts."""

    strength: float = Field(default=0.1, ge=0, le=0.5, description="Maximum change of a score, as a share of it.")
    votes: int = Field(default=1, ge=1, description="A majority of this many voters has the full effect.")


@dataclass(frozen=True, slots=True)
class Votes:
    """How many voters found answers from a source helpful (`up`) or not (`down`); older votes count in part."""

    up: float = 0
    down: float = 0


@dataclass(frozen=True, slots=True)
class Vote:
    """The vote of one voter on a source in one conversation: `rating` 1 or -1, `age` in days."""

    voter: str
    rating: int
    age: float


class VotesBySource(Protocol):
    """Gives the votes on these sources, by their ids; a source without votes is left out."""

    def __call__(self, sources: Sequence[str], /) -> Mapping[str, Votes]: ...


def no_votes(_sources: Sequence[str]) -> Mapping[str, Votes]:
    """Plays `VotesBySource` where no votes are stored."""
    return {}


def counted(votes: Iterable[Vote]) -> Votes:
    """The votes on one source, each voter counting for one at most, however many conversations it had.

    The vote of a voter is the mean of its ratings, weighed by their age; it decays as they grow old.
    """
    sums: dict[str, tuple[float, float]] = {}
    for vote in votes:
        weight = float(0.5 ** (max(0.0, vote.age) / HALF_LIFE_DAYS))
        total, weights = sums.get(vote.voter, (0.0, 0.0))
        sums[vote.voter] = (total + weight * vote.rating, weights + weight)
    means = [total / max(1.0, weights) for total, weights in sums.values()]
    return Votes(up=sum(mean for mean in means if mean > 0), down=-sum(mean for mean in means if mean < 0))


def weighed(
    passages: Sequence[Passage], votes: Mapping[str, Votes], settings: FeedbackSettings
) -> tuple[list[Passage], Explanation]:
    """The passages, best first, with the scores of sources that have votes moved by up to `strength`."""
    if not votes:
        return list(passages), Explanation(NAME)
    weighed: list[Passage] = []
    changes: list[StepChange] = []
    for passage in passages:
        share = _share(votes.get(passage.source), settings)
        if not share:
            weighed.append(passage)
            continue
        score = round(passage.score + abs(passage.score) * share, 6)
        changes.append(StepChange(f"{share:+.0%} for feedback", passage.id, passage.score, score))
        weighed.append(passage.rescored(score))
    if changes:
        weighed.sort(key=lambda passage: -passage.score)  # stable: equals keep their order
    return weighed, Explanation(NAME, tuple(changes))


def _share(votes: Votes | None, settings: FeedbackSettings) -> float:
    if votes is None:
        return 0.0
    balance = (votes.up - votes.down) / settings.votes
    return settings.strength * max(-1.0, min(1.0, balance))
