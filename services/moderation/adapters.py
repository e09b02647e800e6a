"""Microsoft Presidio as an additional detector of private data, on a blank language pipeline (no model, no network)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from services.moderation.settings import ModerationSettings
from shared.contracts.errors import ConfigurationError
from shared.language.rules.private_data.span import PrivateKind, Span

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

#: Presidio's entity types and our kinds; its other types are not used.
_KINDS: dict[str, PrivateKind] = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "CA_SIN": "sin",
    "IP_ADDRESS": "ip",
}
#: Results with a lower score are dropped; words next to a number raise its score.
_LEAST_SCORE = 0.45
#: Characters of a text that are analysed.
_LONGEST = 10_000


class PresidioPrivateData:
    """A `PrivateDataDetector` that loads Presidio in a thread at the first use (two seconds)."""

    def __init__(self) -> None:
        self._loading: asyncio.Task[AnalyzerEngine] | None = None
        self._regions: tuple[str, ...] = ()

    async def spans(self, text: str, settings: ModerationSettings) -> tuple[Span, ...]:
        """What Presidio finds in the first 10,000 characters, for pipelines with `pii_engine: presidio`.

        Raises:
            ConfigurationError: Presidio is not installed.
        """
        if settings.pii_engine != "presidio":
            return ()
        if self._loading is None or self._regions != settings.phone_regions or _failed(self._loading):
            self._regions = settings.phone_regions
            self._loading = asyncio.create_task(asyncio.to_thread(load_analyzer, settings.phone_regions))
        # Shielded: the withdrawal of one question must not cancel loading for the others.
        engine = await asyncio.shield(self._loading)
        return find_spans(engine, text)

    async def open(self) -> None:
        """Nothing to open: Presidio is loaded when it is first needed."""

    async def close(self) -> None:
        """Wait for a load in progress, because a thread cannot be stopped."""
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)
            self._loading = None


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def find_spans(engine: AnalyzerEngine, text: str) -> tuple[Span, ...]:
    """The spans in one text, those with the highest score first."""
    results = engine.analyze(text[:_LONGEST], language="en", score_threshold=_LEAST_SCORE, entities=list(_KINDS))
    results.sort(key=lambda result: (-result.score, result.start))
    return tuple(Span(_KINDS[result.entity_type], result.start, result.end) for result in results)


def load_analyzer(regions: tuple[str, ...]) -> AnalyzerEngine:
    """An analyzer with a blank pipeline in which words are their own lemmas, so that context words raise scores.

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
    # Use the suffix list of the package; by default the e-mail recognizer downloads it at the first use.
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
