"""What people thought of answers from a source moves its passages a little up or down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section

NAME = "feedback"


class FeedbackSettings(Section):
    """How much feedback counts."""

    strength: float = Field(
        default=0.1, ge=0, le=0.5, description="Most a score is raised or lowered, as a share of it."
    )
    votes: int = Field(default=1, ge=1, description="This many voters more for than against count in full.")
    half_life_days: float = Field(default=90, gt=0, description="A vote counts half after so many days.")


@dataclass(frozen=True, slots=True)
class Votes:
    """How many voters found answers from a source helpful, and how many did not; older votes count in part."""

    up: float = 0
    down: float = 0


@dataclass(frozen=True, slots=True)
class Vote:
    """What one voter thought of a source in one conversation, `age` days ago: 1 or -1."""

    voter: str
    rating: int
    age: float


class VotesBySource(Protocol):
    """Tells what is thought of a source (by its id); None when nobody voted."""

    def __call__(self, source: str, settings: FeedbackSettings) -> Votes | None: ...


def no_votes(source: str, settings: FeedbackSettings) -> None:
    """`VotesBySource` where no votes are kept."""


def counted(votes: Iterable[Vote], settings: FeedbackSettings) -> Votes:
    """The votes on one source, each voter counting for one at most, however many conversations it had.

    A voter's voice is the mean of its votes, weighed by their age; it fades as they grow old.
    """
    sums: dict[str, tuple[float, float]] = {}
    for vote in votes:
        weight = float(0.5 ** (max(0.0, vote.age) / settings.half_life_days))
        total, weights = sums.get(vote.voter, (0.0, 0.0))
        sums[vote.voter] = (total + weight * vote.rating, weights + weight)
    voices = [total / max(1.0, weights) for total, weights in sums.values()]
    return Votes(up=sum(voice for voice in voices if voice > 0), down=-sum(voice for voice in voices if voice < 0))


def weighed(
    passages: Sequence[Passage], votes: Callable[[str], Votes | None], settings: FeedbackSettings
) -> tuple[list[Passage], Explanation]:
    """The passages, best first, with the scores of sources that have votes moved by up to `strength`."""
    weighed: list[Passage] = []
    changes: list[StepChange] = []
    for passage in passages:
        share = _share(votes(passage.source), settings)
        if not share:
            weighed.append(passage)
            continue
        score = round(passage.score + abs(passage.score) * share, 6)
        changes.append(StepChange(f"{share:+.0%} for feedback", passage.id, passage.score, score))
        weighed.append(passage.model_copy(update={"score": score}))
    if changes:
        weighed.sort(key=lambda passage: -passage.score)  # stable: equals keep their order
    return weighed, Explanation(NAME, tuple(changes))


def _share(votes: Votes | None, settings: FeedbackSettings) -> float:
    if votes is None:
        return 0.0
    balance = (votes.up - votes.down) / settings.votes
    return settings.strength * max(-1.0, min(1.0, balance))
