"""What people thought of answers from a source moves its passages a little up or down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from services.retrieval.judgements.explanation import Change, Explanation
from shared.domain import Passage
from shared.pipelines import Section

NAME = "feedback"


class FeedbackSettings(Section):
    """How much feedback counts."""

    strength: float = Field(
        default=0.1, ge=0, le=0.5, description="Most a score is raised or lowered, as a share of it."
    )
    votes: int = Field(default=1, ge=1, description="This many votes more for than against count in full.")


@dataclass(frozen=True, slots=True)
class Votes:
    """How often answers from a source were found helpful, and how often not."""

    up: int = 0
    down: int = 0


def weighed(
    passages: Sequence[Passage], votes: Mapping[str, Votes], settings: FeedbackSettings
) -> tuple[list[Passage], Explanation]:
    """The passages with the scores of sources that have votes (by source id) moved by up to `strength`, best first."""
    weighed: list[Passage] = []
    changes: list[Change] = []
    for passage in passages:
        share = _share(votes.get(passage.source), settings)
        if not share:
            weighed.append(passage)
            continue
        score = round(passage.score + abs(passage.score) * share, 6)
        changes.append(Change(f"{share:+.0%} for feedback", passage.id, passage.score, score))
        weighed.append(passage.model_copy(update={"score": score}))
    if changes:
        weighed.sort(key=lambda passage: -passage.score)  # stable: equals keep their order
    return weighed, Explanation(NAME, tuple(changes))


def _share(votes: Votes | None, settings: FeedbackSettings) -> float:
    if votes is None:
        return 0.0
    balance = (votes.up - votes.down) / settings.votes
    return settings.strength * max(-1.0, min(1.0, balance))
