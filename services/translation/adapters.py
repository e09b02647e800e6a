"""Language identification by lingua: n-gram models in Rust, no network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from services.translation.ports import Guess
from shared.contracts.errors import ConfigurationError
from shared.text.languages import UNKNOWN

if TYPE_CHECKING:
    from lingua import LanguageDetector

#: Characters read of a text: enough to be certain, and it bounds the work (about 0.3 µs each).
LONGEST = 400
#: Where lingua keeps apart what is one language here.
_LINGUA_CODE = {"nor": "nob"}
_OWN_CODE = {lingua: own for own, lingua in _LINGUA_CODE.items()}


class LinguaIdentifier:
    """One detector per set of languages, loaded once (a third of a second for two) and kept.

    `preload` is loaded in the background as soon as the worker starts; a text that comes earlier waits for it.
    """

    def __init__(self, preload: tuple[str, ...] = ()) -> None:
        self._preload = preload
        self._detectors: dict[frozenset[str], asyncio.Task[LanguageDetector]] = {}

    async def open(self) -> None:
        """Start loading, and return at once."""
        if len(self._preload) > 1:
            self._loading(frozenset(self._preload))

    async def close(self) -> None:
        """Forget the detectors; one that is being loaded is waited for, because a thread cannot be stopped."""
        loading, self._detectors = list(self._detectors.values()), {}
        await asyncio.gather(*loading, return_exceptions=True)

    async def identify(self, text: str, languages: tuple[str, ...]) -> Guess:
        """The likeliest language of the first 400 characters.

        Raises:
            ConfigurationError: one of `languages` is not among those that lingua knows.
        """
        if len(languages) == 1:
            return Guess(languages[0], 1.0)
        # Shielded: a question that is withdrawn must not cancel the loading for all others.
        detector = await asyncio.shield(self._loading(frozenset(languages)))
        first, second, *_ = detector.compute_language_confidence_values(text[:LONGEST])
        if first.value == 0:
            return Guess(UNKNOWN, 0.0)
        code = first.language.iso_code_639_3.name.lower()
        return Guess(_OWN_CODE.get(code, code), first.value - second.value)

    def _loading(self, languages: frozenset[str]) -> asyncio.Task[LanguageDetector]:
        task = self._detectors.get(languages)
        if task is None or (task.done() and task.exception()):
            task = asyncio.create_task(asyncio.to_thread(_load, languages))
            self._detectors[languages] = task
        return task


def _load(languages: frozenset[str]) -> LanguageDetector:
    from lingua import IsoCode639_3, LanguageDetectorBuilder

    codes = []
    for language in sorted(languages):
        code = getattr(IsoCode639_3, _LINGUA_CODE.get(language, language).upper(), None)
        if code is None:
            raise ConfigurationError(f"translation.languages: {language} cannot be identified")
        codes.append(code)
    return LanguageDetectorBuilder.from_iso_codes_639_3(*codes).with_preloaded_language_models().build()
