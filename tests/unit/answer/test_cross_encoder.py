"""The cross-encoder: a model that scores sentences, and what becomes of its scores."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from services.answer.engines.cross_encoder import CrossEncoder
from services.answer.engines.extractive import ExtractiveEngine
from services.answer.handler import Answerer
from services.answer.settings import AnswerSettings
from shared.contracts.domain import Passage, PipelineRef, Question
from shared.contracts.envelope import opening
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.contracts.facts import AnswerDrafted, PassagesRetrieved
from shared.contracts.signals import Signal
from shared.language.rules.sentence_choice.sentence_ranking import read, rescored
from shared.language.rules.sentence_choice.statement_selection import choose
from shared.llm.none import NoModels
from shared.observability.telemetry import SENTENCES_SCORED
from tests.support.tiny_onnx import write_cross_encoder

QUESTION = "When was the old bridge opened?"
BRIDGE = Passage(
    id="p",
    source="kb:bridge",
    text="The old bridge was opened by a queen in May. The old bridge was opened in rain. It carries two lanes.",
    title="",
    language="eng",
    score=1.0,
)


class Scorer:
    """Plays `SentenceScorer`: prefers texts with a word; may fail, and may wait."""

    def __init__(self, word: str, *, fails: bool = False, waits: bool = False) -> None:
        self.word = word
        self.fails = fails
        self.waits = waits
        self.texts: list[str] = []

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        self.texts = list(texts)
        if self.waits:
            await asyncio.Event().wait()
        if self.fails:
            raise UnavailableError("the model is away")
        return [9.0 if self.word in text else -9.0 for text in texts]


class Silence:
    """Plays `SignalPublisher` where nobody listens to tokens."""

    async def publish_signal(self, correlation_id: str, signal: Signal) -> None: ...


async def first_sentence(scorer: Scorer | CrossEncoder | None, section: AnswerSettings | None = None) -> str:
    question = Question(text=QUESTION, language="eng", pivot_text=QUESTION, pivot_language="eng")
    retrieved = PassagesRetrieved(question=question, passages=(BRIDGE,))
    event = opening("retrieval", retrieved, pipeline=PipelineRef(name="d", revision=1), deadline_seconds=60)
    answerer = Answerer({"extractive": ExtractiveEngine(scorer)}, Silence(), NoModels())
    settings = section or AnswerSettings(min_answerable=0)
    drafted = await answerer.answer(retrieved, event, settings)
    assert isinstance(drafted, AnswerDrafted)
    return drafted.answer.sentences[0].text


def outcomes(outcome: str) -> float:
    return float(SENTENCES_SCORED.labels(outcome)._value.get())


@pytest.fixture
async def encoder(tmp_path: Path) -> AsyncIterator[CrossEncoder]:
    write_cross_encoder(tmp_path / "model", {"rain": 5.0, "queen": 1.0})
    made = CrossEncoder(str(tmp_path / "model"))
    await made.open()
    yield made
    await made.close()


async def test_the_scores_change_which_sentence_comes_first() -> None:
    before = outcomes("scored")

    assert "May" in await first_sentence(None)
    assert "rain" in await first_sentence(Scorer("rain"))
    assert outcomes("scored") == before + 1


@pytest.mark.parametrize(
    ("scorer", "outcome"), [(Scorer("rain", fails=True), "failed"), (Scorer("rain", waits=True), "late")]
)
async def test_a_model_that_fails_or_is_late_changes_nothing(scorer: Scorer, outcome: str) -> None:
    before = outcomes(outcome)

    said = await first_sentence(scorer, AnswerSettings(min_answerable=0, cross_encoder_seconds=0.05))

    assert said == await first_sentence(None)
    assert outcomes(outcome) == before + 1


async def test_with_no_seconds_the_model_is_not_asked() -> None:
    scorer = Scorer("rain")

    await first_sentence(scorer, AnswerSettings(min_answerable=0, cross_encoder_seconds=0))

    assert scorer.texts == []


async def test_a_sentence_that_refers_back_is_read_with_the_one_before_it() -> None:
    scorer = Scorer("rain")

    await first_sentence(scorer)

    assert "The old bridge was opened in rain. It carries two lanes." in scorer.texts


def test_the_scale_of_the_scores_does_not_matter_and_equal_scores_change_nothing() -> None:
    reading = read(QUESTION, "eng", [BRIDGE])

    def order(scores: Sequence[float]) -> list[str]:
        return [one.statement.text for one in choose(rescored(reading, scores), most=3, longest=1000)]

    assert order([1.0, 2.0, 3.0]) == order([-500.0, 0.0, 500.0])
    assert rescored(reading, [4.0, 4.0, 4.0]) is reading
    assert rescored(reading, []) is reading
    assert sum(one.probability for one in rescored(reading, [1.0, 2.0]).ranked) == pytest.approx(1.0)


async def test_a_model_in_a_folder_scores_on_this_machine(encoder: CrossEncoder) -> None:
    scores = await encoder.scores(QUESTION, ["opened by a queen", "opened in rain", "two lanes"])

    assert scores == pytest.approx([1.0, 5.0, 0.0])
    assert "rain" in await first_sentence(encoder)


async def test_a_model_that_breaks_is_told_as_unavailable(encoder: CrossEncoder) -> None:
    encoder._model = None

    with pytest.raises(UnavailableError, match="the cross-encoder failed"):
        await encoder.scores(QUESTION, ["text"])


async def test_a_folder_without_a_model_and_a_missing_extra_are_told_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match=r"contains neither model\.onnx nor onnx/model\.onnx"):
        await CrossEncoder(str(tmp_path)).open()
    monkeypatch.setitem(sys.modules, "fastembed.rerank.cross_encoder", None)
    with pytest.raises(ConfigurationError, match=r"answerbus\[embed\]"):
        await CrossEncoder(str(tmp_path)).open()
