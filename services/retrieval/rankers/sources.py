"""Chooses the sources that are loaded whole, by their entries in the index of sources."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from pydantic import Field

from services.retrieval.rankers.explanation import Explanation, StepChange
from shared.contracts.pipelines import Section
from shared.contracts.requests.retrieval import SourceIndexEntry
from shared.language.analysis import stems
from shared.text.languages import UNKNOWN

NAME = "sources"
#: Weights of a word of the title or id, and of a word of the description.
_TITLE, _DESCRIPTION = 2.0, 1.0


class SourceSettings(Section):
    """How many sources are loaded."""

    sources: int = Field(default=3, ge=1, le=20, description="Maximum number of sources.")
    relative: float = Field(
        default=0.4, ge=0, le=1, description="Sources with less than this share of the best score are left out."
    )


class SourceChooser:
    """An inverted index of the entries: the time to choose grows with the question, not with the number of sources."""

    def __init__(self, entries: Sequence[SourceIndexEntry], *, language: str = UNKNOWN) -> None:
        self._entries = tuple(entries)
        self._language = language
        self._weights: dict[str, dict[int, float]] = {}
        for number, entry in enumerate(self._entries):
            for weight, text in (
                (_DESCRIPTION, entry.description),
                (_TITLE, f"{entry.title} {_words_of_id(entry.source)}"),
            ):
                for stem in set(stems(text, language)):
                    self._weights.setdefault(stem, {})[number] = weight  # the title, read last, counts

    def choose(self, question: str, settings: SourceSettings) -> tuple[list[str], Explanation]:
        """The ids of the sources that share the rarest words with the question, best first; none when none does."""
        ranked = self._ranked(question)
        least = settings.relative * ranked[0][1] if ranked else 0.0
        chosen = [
            (self._entries[number].source, score) for number, score in ranked[: settings.sources] if score >= least
        ]
        changes = tuple(StepChange(f"chosen: {source}", after=round(score, 3)) for source, score in chosen)
        return [source for source, _ in chosen], Explanation(NAME, changes)

    def by_fit(self, question: str) -> list[SourceIndexEntry]:
        """All entries, those that share the rarest words with the question first."""
        fitting = [number for number, _ in self._ranked(question)]
        found = set(fitting)
        others = [entry for number, entry in enumerate(self._entries) if number not in found]
        return [*(self._entries[number] for number in fitting), *others]

    def _ranked(self, question: str) -> list[tuple[int, float]]:
        """Entries by number that share words with the question, with their scores, best first."""
        scores: defaultdict[int, float] = defaultdict(float)
        for stem in set(stems(question, self._language)):
            holders = self._weights.get(stem, {})
            rarity = math.log(1 + len(self._entries) / len(holders)) if holders else 0.0
            for number, weight in holders.items():
                scores[number] += weight * rarity
        return sorted(scores.items(), key=lambda each: (-each[1], each[0]))


def _words_of_id(source: str) -> str:
    return source.partition(":")[2].replace("_", " ").replace("-", " ").replace("/", " ")
