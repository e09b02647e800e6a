"""The content of the index: how many passages in which language, read from the store now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from services.retrieval.ports import VectorIndex
from shared.contracts.errors import UnavailableError
from shared.language.analysis import function_word_votes
from shared.text.languages import UNKNOWN

#: Seconds for which the counts are used; an empty index is counted again each time.
_SECONDS = 30.0
#: A language with more than this share of the votes for another one may still be that of the question.
_RELATED = 0.6


class IndexProfile:
    """The number of passages by language, at most `_SECONDS` old; `clock` gives seconds."""

    def __init__(self, index: VectorIndex, clock: Callable[[], float] = time.monotonic) -> None:
        self._index = index
        self._clock = clock
        self._languages: Mapping[str, int] = {}
        self._read_at = 0.0

    async def languages(self) -> Mapping[str, int]:
        """The number of passages by language; what was known before if the store is unavailable."""
        now = self._clock()
        if not self._languages or now - self._read_at > _SECONDS:
            try:
                self._languages = await self._index.languages()
            except UnavailableError:
                return self._languages
            self._read_at = now
        return self._languages

    async def search_language(self, text: str, identified: str) -> str:
        """The language to search in, see `language_of`."""
        return language_of(text, identified, await self.languages())

    async def rarity(self) -> float:
        """How much the rarest word of the index weighs: log(1 + passages), and at least 1."""
        return max(1.0, math.log(1 + sum((await self.languages()).values())))


def language_of(text: str, identified: str, languages: Mapping[str, int]) -> str:
    """The language of a question, a language of the documents where that is possible.

    The identified language stays unless no document is in it, or the question's function words clearly are those of
    another language of documents. A question can be misidentified because its language is not among those that the
    pipeline expects.
    """
    known = [code for code in languages if code != UNKNOWN]
    if not known or known == [identified]:
        return identified
    votes = function_word_votes(text, {*known, identified} - {UNKNOWN})
    best = max(known, key=lambda code: (votes.get(code, 0), code == identified, languages[code], code))
    if not votes.get(best, 0):
        return identified if identified in languages else UNKNOWN
    if identified in languages and votes.get(identified, 0) > _RELATED * votes[best]:
        return identified
    return best
