"""The category of a question, by its words, and the passages that may answer questions of this category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from services.retrieval.rankers.phrases import PhraseBook
from shared.contracts.document_metadata import RequiredLabels, has_labels, required_labels
from shared.contracts.domain import Passage
from shared.contracts.pipelines import Section
from shared.language.analysis import words

NAME = "categories"


class Category(Section):
    """One category of questions."""

    name: str = Field(min_length=1, description="Shown in explanations.")
    words: tuple[str, ...] = Field(min_length=1, description="Words and phrases that identify the category.")
    collections: tuple[str, ...] = Field(
        default=(), description="Its questions are searched for in these collections only."
    )
    sources: tuple[str, ...] = Field(
        default=(), description="Only passages of sources with these prefixes answer its questions."
    )
    languages: tuple[str, ...] = Field(
        default=(), description="Only passages in these languages (ISO 639-3) answer its questions."
    )
    metadata: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Only passages of documents with this metadata answer its questions: for each field the values of "
        "which a document has one.",
    )
    not_before: str = Field(
        default="",
        pattern=r"^(\d{4}-\d\d-\d\d)?$",
        description="Only passages from this day on answer its questions; undated ones stay.",
    )


class CategorySettings(Section):
    """The categories that passages are filtered by."""

    categories: tuple[Category, ...] = Field(
        default=(), description="The categories, in order of preference for equal matches."
    )

    @cached_property
    def book(self) -> PhraseBook[int]:
        """The words of every category, leading to its number."""
        return PhraseBook(
            (phrase, number) for number, category in enumerate(self.categories) for phrase in category.words
        )


@dataclass(frozen=True, slots=True)
class Filters:
    """What a category requires of passages; empty fields require nothing. `collections` limits the search itself.

    `labels` are required whatever the category: a passage without them is never let through.
    """

    category: str = ""
    collections: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_before: str = ""
    metadata: RequiredLabels = ()
    labels: RequiredLabels = ()


_NOTHING = Filters()


def detect(question: str, settings: CategorySettings) -> tuple[Filters, Explanation]:
    """The category with the most words of the question (longer phrases weigh more), as filters; none: no filters."""
    if not settings.categories:
        return Filters(), Explanation(NAME)
    votes: Counter[int] = Counter()
    phrases: dict[int, list[str]] = {}
    asked = words(question)
    for match in settings.book.find(asked):
        for number in match.values:
            votes[number] += match.end - match.start
            phrases.setdefault(number, []).append(" ".join(asked[match.start : match.end]))
    if not votes:
        return Filters(), Explanation(NAME)
    number = min(votes, key=lambda each: (-votes[each], each))
    chosen = settings.categories[number]
    filters = Filters(
        chosen.name,
        chosen.collections,
        chosen.sources,
        chosen.languages,
        chosen.not_before,
        required_labels(chosen.metadata),
    )
    return filters, Explanation(NAME, (StepChange(f"{chosen.name}: {', '.join(phrases[number])}"),))


def filtered(passages: Sequence[Passage], filters: Filters) -> tuple[list[Passage], Explanation]:
    """The passages that meet the filters, in order; all that have the labels when none does."""
    if filters == _NOTHING:
        return list(passages), Explanation(NAME)
    passages = [passage for passage in passages if has_labels(passage.metadata, filters.labels)]
    kept = [passage for passage in passages if not _violation(passage, filters)]
    if len(kept) == len(passages):
        return kept, Explanation(NAME)
    if not kept:
        return list(passages), Explanation(NAME, (StepChange(f"{filters.category}: no passage, filter dropped"),))
    changes = tuple(
        StepChange(f"left out: {why}", passage.id, passage.score)
        for passage in passages
        if (why := _violation(passage, filters))
    )
    return kept, Explanation(NAME, changes)


def _violation(passage: Passage, filters: Filters) -> str:
    if filters.sources and not passage.source.startswith(filters.sources):
        return f"not a source of {filters.category}"
    if filters.languages and passage.language not in (*filters.languages, "und"):
        return f"in {passage.language}"
    if not has_labels(passage.metadata, filters.metadata):
        return f"without the metadata of {filters.category}"
    if filters.not_before and passage.date and passage.date < filters.not_before:
        return f"from {passage.date}"
    return ""
