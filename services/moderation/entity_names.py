"""Names of people found by spaCy pipelines that the operator installed: an addition to the built-in patterns."""

from __future__ import annotations

import asyncio
from typing import Any

from services.moderation.ports import PrivateDataDetector
from services.moderation.settings import ModerationSettings
from shared.contracts.errors import ConfigurationError
from shared.language.analysis import guess_language
from shared.language.rules.private_data.span import Span
from shared.text.languages import code3

#: What pipelines call a person.
_PERSON = frozenset(["PERSON", "PER"])
#: Characters of a text that are analysed.
_LONGEST = 10_000


class EntityNames:
    """A `PrivateDataDetector` that loads each pipeline of `name_models` in a thread at its first use."""

    def __init__(self) -> None:
        self._loading: dict[str, asyncio.Task[Any]] = {}

    async def spans(self, text: str, settings: ModerationSettings) -> tuple[Span, ...]:
        """The people that the pipeline of the text's language names; empty without a pipeline for it.

        Raises:
            ConfigurationError: spaCy or the pipeline is not installed.
        """
        models = {code3(language): name for language, name in settings.name_models.items()}
        name = models.get(guess_language(text)) or next(iter(models.values()), "")
        if not name:
            return ()
        task = self._loading.get(name)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._loading[name] = asyncio.create_task(asyncio.to_thread(_load, name))
        # Shielded: the withdrawal of one question must not cancel loading for the others.
        pipeline = await asyncio.shield(task)
        return await asyncio.to_thread(_people, pipeline, text[:_LONGEST])

    async def open(self) -> None:
        """Nothing to open: pipelines are loaded when they are first needed."""

    async def close(self) -> None:
        """Wait for a load in progress, because a thread cannot be stopped."""
        await asyncio.gather(*self._loading.values(), return_exceptions=True)
        self._loading.clear()


class AllDetectors:
    """A `PrivateDataDetector` that asks each of several, in order."""

    def __init__(self, *detectors: PrivateDataDetector) -> None:
        self._detectors = detectors

    async def spans(self, text: str, settings: ModerationSettings) -> tuple[Span, ...]:
        """What all of them find.

        Raises:
            ConfigurationError: one that the pipeline configures is not installed.
        """
        return tuple([span for detector in self._detectors for span in await detector.spans(text, settings)])


def _people(pipeline: Any, text: str) -> tuple[Span, ...]:
    return tuple(
        Span("name", entity.start_char, entity.end_char) for entity in pipeline(text).ents if entity.label_ in _PERSON
    )


def _load(name: str) -> Any:
    try:
        import spacy
    except ImportError:
        raise ConfigurationError("moderation.name_models needs the extra: pip install 'answerbus[pii]'") from None
    try:
        return spacy.load(name)
    except OSError:
        raise ConfigurationError(
            f"moderation.name_models: there is no spaCy pipeline {name!r}; install its package, or give its folder"
        ) from None
