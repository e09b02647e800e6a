"""What a question is about, by words that give it away, and which passages may answer it then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from services.retrieval.rankers.phrases import PhraseBook
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.text.analysis import words

NAME = "categories"


class Category(Section):
    """One category of questions."""

    name: str = Field(min_length=1, description="Shown in explanations.")
    words: tuple[str, ...] = Field(min_length=1, description="Words and phrases that give the category away.")
    collections: tuple[str, ...] = Field(default=(), description="Its questions are looked for in these collections.")
    sources: tuple[str, ...] = Field(default=(), description="Its passages come from sources that begin like this.")
    languages: tuple[str, ...] = Field(default=(), description="Its passages are in these languages (ISO 639-3).")
    not_before: str = Field(
        default="", pattern=r"^(\d{4}-\d\d-\d\d)?$", description="Its passages are from this day on; undated ones stay."
    )


class CategorySettings(Section):
    """The categories, and how strictly they are obeyed."""

    categories: tuple[Category, ...] = Field(default=(), description="In order of preference for equal matches.")
    fewest: int = Field(
        default=1, ge=1, description="With fewer passages left than this, the filter is dropped and all are kept."
    )

    @cached_property
    def book(self) -> PhraseBook[int]:
        """The words of every category, leading to its number."""
        return PhraseBook((phrase, number) for number, one in enumerate(self.categories) for phrase in one.words)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a category demands of passages; empty fields demand nothing. `collections` is for the index to obey."""

    category: str = ""
    collections: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_before: str = ""


def detect(question: str, settings: CategorySettings) -> tuple[Filters, Explanation]:
    """The category whose words the question uses most (longer phrases weigh more), as filters; none: no filters."""
    if not settings.categories:
        return Filters(), Explanation(NAME)
    votes: Counter[int] = Counter()
    heard: dict[int, list[str]] = {}
    said = words(question)
    for met in settings.book.find(said):
        for number in met.values:
            votes[number] += met.end - met.start
            heard.setdefault(number, []).append(" ".join(said[met.start : met.end]))
    if not votes:
        return Filters(), Explanation(NAME)
    number = min(votes, key=lambda each: (-votes[each], each))
    chosen = settings.categories[number]
    filters = Filters(chosen.name, chosen.collections, chosen.sources, chosen.languages, chosen.not_before)
    return filters, Explanation(NAME, (StepChange(f"{chosen.name}: {', '.join(heard[number])}"),))


def filtered(
    passages: Sequence[Passage], filters: Filters, settings: CategorySettings
) -> tuple[list[Passage], Explanation]:
    """The passages that meet the filters, in order; all of them when fewer than `settings.fewest` do."""
    kept = [passage for passage in passages if not _why_not(passage, filters)]
    if len(kept) == len(passages):
        return kept, Explanation(NAME)
    if len(kept) < settings.fewest:
        return list(passages), Explanation(NAME, (StepChange(f"{filters.category}: too few passages, filter dropped"),))
    changes = tuple(
        StepChange(f"left out: {why}", passage.id, passage.score)
        for passage in passages
        if (why := _why_not(passage, filters))
    )
    return kept, Explanation(NAME, changes)


def _why_not(passage: Passage, filters: Filters) -> str:
    if filters.sources and not passage.source.startswith(filters.sources):
        return f"not a source of {filters.category}"
    if filters.languages and passage.language not in (*filters.languages, "und"):
        return f"in {passage.language}"
    if filters.not_before and passage.date and passage.date < filters.not_before:
        return f"from {passage.date}"
    return ""
