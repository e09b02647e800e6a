"""Microsoft Presidio as a second pair of eyes for private data: blank language pipelines, no model, no network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from services.moderation.private.span import Span
from services.moderation.settings import ModerationSettings, PrivateKind
from shared.contracts.errors import ConfigurationError

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

#: What Presidio calls a kind; the others it knows are not private data of an asker.
_KINDS: dict[str, PrivateKind] = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "CA_SIN": "sin",
    "IP_ADDRESS": "ip",
}
#: Below it a number is only digits that could be one; words beside it lift the score.
_SURE = 0.45
#: Characters read of a text; more is nobody's question.
_LONGEST = 10_000


class PresidioPrivateData:
    """Loads Presidio in a thread when the first pipeline asks for it (two seconds); texts that come then wait."""

    def __init__(self) -> None:
        self._loading: asyncio.Task[AnalyzerEngine] | None = None
        self._regions: tuple[str, ...] = ()

    async def spans(self, text: str, settings: ModerationSettings) -> tuple[Span, ...]:
        """What Presidio finds in the first 10,000 characters, when the pipeline wants it.

        Raises:
            ConfigurationError: Presidio is not installed.
        """
        if settings.pii_engine != "presidio":
            return ()
        if self._loading is None or self._regions != settings.phone_regions or _failed(self._loading):
            self._regions = settings.phone_regions
            self._loading = asyncio.create_task(asyncio.to_thread(load, settings.phone_regions))
        # Shielded: a question that is withdrawn must not cancel the loading for all others.
        engine = await asyncio.shield(self._loading)
        return found_by(engine, text)

    async def open(self) -> None:
        """Nothing is loaded before it is asked for."""

    async def close(self) -> None:
        """A load under way is waited for, because a thread cannot be stopped."""
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)
            self._loading = None


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def found_by(engine: AnalyzerEngine, text: str) -> tuple[Span, ...]:
    """The spans of one text, the surest first."""
    results = engine.analyze(text[:_LONGEST], language="en", score_threshold=_SURE, entities=list(_KINDS))
    results.sort(key=lambda one: (-one.score, one.start))
    return tuple(Span(_KINDS[one.entity_type], one.start, one.end) for one in results)


def load(regions: tuple[str, ...]) -> AnalyzerEngine:
    """An analyser over a blank pipeline whose words are their own lemmas, so that words beside a number count.

    Raises:
        ConfigurationError: Presidio is not installed.
    """
    try:
        import spacy
        import tldextract
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
        from presidio_analyzer import predefined_recognizers as known
        from presidio_analyzer.nlp_engine import SpacyNlpEngine
        from spacy.language import Language
    except ImportError:
        raise ConfigurationError(
            "moderation.pii_engine: presidio needs the extra: pip install 'answerbus[pii]'"
        ) from None
    # The list of suffixes that comes with the library will do; fetching it is how the recognizer would begin.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    class BlankEngine(SpacyNlpEngine):
        """spaCy without a model: tokens only."""

        def load(self) -> None:
            blank = spacy.blank("en")
            blank.add_pipe("answerbus_lemmas")
            self.nlp: Any = {"en": blank}

    if not Language.has_factory("answerbus_lemmas"):
        Language.component("answerbus_lemmas", func=_own_lemmas)
    engine = BlankEngine(models=[{"lang_code": "en", "model_name": "blank"}])
    engine.load()
    registry = RecognizerRegistry(
        recognizers=[
            known.EmailRecognizer(),
            known.PhoneRecognizer(supported_regions=regions),
            known.CreditCardRecognizer(),
            known.IbanRecognizer(),
            known.UsSsnRecognizer(),
            known.CaSinRecognizer(),
            known.IpRecognizer(),
        ],
        supported_languages=["en"],
    )
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def _own_lemmas(document: Any) -> Any:
    for token in document:
        token.lemma_ = token.lower_
    return document
