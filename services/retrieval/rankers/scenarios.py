"""Texts written for a department, a topic or certain words: what the answer must know beside the passages."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cached_property

from pydantic import Field, model_validator

from services.retrieval.rankers.departments import DepartmentMatch
from services.retrieval.rankers.explanation import Explanation, StepChange
from services.retrieval.rankers.phrases import PhraseBook
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.text.analysis import guess_language, words

NAME = "scenarios"
#: How a text that is quoted was found, and what its source begins with.
SOURCE = "scenario"
_NAMESPACE = uuid.UUID("2f5e7f5e-86a2-5d0e-9f5c-0a4d3c1b7e90")


class Scenario(Section):
    """One text and when it applies: every condition that is given must hold."""

    name: str = Field(min_length=1, description="Shown in explanations.")
    text: str = Field(min_length=1, description="What the answer must know; usually `!file scenarios/<name>.md`.")
    department: str = Field(default="", description="Applies to questions for this department (its code).")
    topic: str = Field(default="", description="Applies to this topic.")
    words: tuple[str, ...] = Field(default=(), description="Applies when the question says one of these.")
    always: bool = Field(default=False, description="Applies to every question.")
    quotable: bool = Field(
        default=False,
        description="The text may be quoted to the asker and cited as `scenario:<name>`: it stands before the passages "
        "found. Else it is a note that a model reads and the extractive engine leaves alone.",
    )

    @model_validator(mode="after")
    def _has_an_occasion(self) -> Scenario:
        if not (self.always or self.department or self.topic or self.words):
            raise ValueError("say when it applies: department, topic, words, or always: true")
        return self


class ScenarioSettings(Section):
    """The scenarios."""

    scenarios: tuple[Scenario, ...] = Field(default=(), description="In order; the narrowest apply first.")
    max_chars: int = Field(
        default=6000, ge=0, description="All together at most this long; the widest are left out first."
    )

    @cached_property
    def book(self) -> PhraseBook[int]:
        """The words of every scenario, leading to its number."""
        return PhraseBook((phrase, number) for number, one in enumerate(self.scenarios) for phrase in one.words)


def applicable_scenarios(
    question: str, matter: DepartmentMatch, settings: ScenarioSettings
) -> tuple[list[Scenario], Explanation]:
    """The scenarios that apply, those with more conditions first, as far as they fit."""
    if not settings.scenarios:
        return [], Explanation(NAME)
    heard = {number for met in settings.book.find(words(question)) for number in met.values}
    fitting = [one for number, one in enumerate(settings.scenarios) if _applies(one, matter, said=number in heard)]
    fitting.sort(key=lambda one: -sum(map(bool, (one.department, one.topic, one.words))))  # stable
    chosen: list[Scenario] = []
    changes: list[StepChange] = []
    left = settings.max_chars
    for one in fitting:
        if len(one.text) <= left:
            left -= len(one.text)
            chosen.append(one)
        changes.append(StepChange(f"{one.name}: {'applies' if one in chosen else 'left out, no room'}"))
    return chosen, Explanation(NAME, tuple(changes))


def quotable_passages(scenarios: Sequence[Scenario], passages: Sequence[Passage]) -> list[Passage]:
    """The texts that may be quoted, as passages that stand as high as the best of those found."""
    best = passages[0].score if passages else 1.0
    return [
        Passage(
            id=str(uuid.uuid5(_NAMESPACE, f"{one.name}\x1f{one.text}")),
            source=f"{SOURCE}:{one.name}",
            title=one.name,
            text=one.text,
            end=len(one.text),
            language=guess_language(one.text),
            score=best,
            via=(SOURCE,),
        )
        for one in scenarios
        if one.quotable
    ]


def _applies(one: Scenario, matter: DepartmentMatch, *, said: bool) -> bool:
    return (
        (not one.department or one.department.casefold() == matter.department.casefold())
        and (not one.topic or one.topic.casefold() == matter.topic.casefold())
        and (not one.words or said)
    )
