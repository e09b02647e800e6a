"""Takes a few passages first and more only while the question is not covered: a short context costs less."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.language.analysis import stems
from shared.text.languages import UNKNOWN

NAME = "progression"
#: How many passages are added at a time.
_STEP = 2


class ProgressionSettings(Section):
    """How many passages are enough."""

    first: int = Field(default=3, ge=1, description="How many passages are always taken.")
    enough: float = Field(
        default=0.8, ge=0, le=1, description="Share of the question's words that the passages must contain."
    )


def first_few(
    question: str, passages: Sequence[Passage], settings: ProgressionSettings, *, language: str = UNKNOWN
) -> tuple[list[Passage], Explanation]:
    """The first passages (best first), and more while they hold too few of the question's words.

    Only words that some passage holds are asked for: no number of passages brings the others. `language` (ISO 639-3) is
    the question's.
    """
    asked = frozenset(stems(question, language))
    held = [asked & frozenset(stems(f"{passage.title} {passage.text}", language)) for passage in passages]
    reachable = frozenset[str]().union(*held)
    taken = min(settings.first, len(passages))
    while taken < len(passages) and _coverage(held[:taken], reachable) < settings.enough:
        taken = min(taken + _STEP, len(passages))
    if taken == len(passages):
        return list(passages), Explanation(NAME)
    covered = _coverage(held[:taken], reachable)
    changes = [StepChange(f"{taken} passages hold {covered:.0%} of what can be found of the question")]
    changes += [
        StepChange("left out: the ones before are enough", passage.id, passage.score) for passage in passages[taken:]
    ]
    return list(passages[:taken]), Explanation(NAME, tuple(changes))


def _coverage(held: Sequence[frozenset[str]], reachable: frozenset[str]) -> float:
    if not reachable:
        return 1.0
    return len(frozenset[str]().union(*held)) / len(reachable)
