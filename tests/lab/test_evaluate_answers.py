"""`answerbus evaluate answers` and `answerbus train confidence`, on a folder of a few documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answerbus_lab.evaluation.answer_losses import LOSSES, loss, losses
from answerbus_lab.evaluation.answers import (
    AnswerCase,
    GivenAnswer,
    calibration_error,
    evaluate,
    fit_confidence,
    half_of,
    read_folder,
    report,
    says,
    trained_confidence,
)
from answerbus_lab.evaluation.retrieval import embedded_settings

from shared.contracts.domain import Passage
from shared.contracts.errors import RefusedError
from shared.contracts.pipelines import Pipeline

DOCUMENTS = (
    {"id": "bridge", "text": "The old bridge was opened in May 1932. It carries two lanes.", "language": "en"},
    {"id": "library", "text": "The library lends books for three weeks. Ask at the desk for a card.", "language": "en"},
    {"id": "museum", "text": "The museum shows ships and maps. Children enter for free.", "language": "en"},
    {"id": "bruecke", "text": "Die Fähre fährt am 8. Mai 2021 zum ersten Mal. Sie ist gelb.", "language": "de"},
)
QUESTIONS = (
    {"id": "1", "question": "When was the bridge opened?", "source": "bridge", "answers": ["1932"], "language": "en"},
    {"id": "2", "question": "Wann fuhr die Fähre zum ersten Mal?", "source": "bruecke", "answers": ["8. Mai 2021"],
     "language": "de"},
    {"id": "3", "question": "Who painted the ceiling of the opera?", "answers": [], "answerable": False,
     "language": "en"},
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, records in (("documents", DOCUMENTS), ("questions", QUESTIONS)):
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
    return tmp_path


@pytest.mark.parametrize("hints", [True, False])
async def test_the_stages_answer_and_are_judged(folder: Path, tmp_path: Path, hints: bool) -> None:
    asked: list[int] = []

    given = await evaluate(
        folder, Pipeline(name="default"), embedded_settings(tmp_path / "index"), hints=hints, advance=asked.append
    )

    bridge, ferry, opera = given
    assert (bridge.right, bridge.right_first, bridge.cited) == (True, True, True)
    assert ferry.right
    assert not opera.answered
    assert sum(asked) == len(QUESTIONS)
    measured = report(given)["metrics"]
    assert (measured["all"]["right"], measured["all"]["told_when_unanswerable"]) == (1.0, 1.0)
    assert set(measured) == {"eng", "deu", "all"}


def test_words_are_compared_without_case_accents_and_punctuation() -> None:
    assert says("Opened in MAY, 1932.", "may 1932")
    assert not says("Opened in May 19325.", "May 1932")
    assert not says("Anything.", "")


def test_the_calibration_error_is_the_mean_gap_between_confidence_and_truth() -> None:
    assert calibration_error([(0.95, True), (0.95, False)]) == pytest.approx(0.45)
    assert calibration_error([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == 0.0
    assert calibration_error([]) == 0.0


def test_confidence_is_fitted_to_what_was_right() -> None:
    overconfident = [(0.9, number % 4 < 2) for number in range(200)]
    given = [GivenAnswer(AnswerCase("1", "?", "eng"), True, right=right, confidence=c) for c, right in overconfident]

    slope, offset = fit_confidence(overconfident)
    trained = trained_confidence(given)

    assert slope < 1 or offset < 0
    assert trained["figures"]["calibration_error"] == pytest.approx(0.4)
    assert trained["figures"]["calibration_error_fitted"] < 0.1
    assert trained["figures"]["calibration_error_unseen"] < 0.1


def test_a_fit_takes_enough_answers() -> None:
    with pytest.raises(RefusedError, match="it takes 20"):
        trained_confidence([])


def test_a_folder_of_another_form_is_refused_by_name_and_line(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"documents\.jsonl"):
        read_folder(tmp_path)
    (tmp_path / "documents.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(RefusedError, match=r"documents\.jsonl: line 1: expected an object with id, text"):
        read_folder(tmp_path)


TEXT = "The bridge is old. It was opened in 1932. It carries two lanes."


@pytest.mark.parametrize(
    ("why", "text", "considered", "answered"),
    [
        ("document_not_found", "", (), True),
        ("passage_not_found", "The bridge is old.", (), True),
        ("between_sentences", "It was opened in May. 1932 was a warm year.", (), True),
        ("abstained_right", TEXT, ((19, 41), (0, 18)), False),
        ("abstained_wrong", TEXT, ((0, 18), (19, 41)), False),
        ("withdrawn", TEXT, ((19, 41),), True),
        ("next_sentence", TEXT, ((0, 18), (19, 41)), True),
        ("second", f"{TEXT} Birds sing.", ((64, 75), (19, 41)), True),
        ("third", f"{TEXT} Birds sing.", ((64, 75), (42, 63), (19, 41)), True),
        ("lower", f"{TEXT} Birds sing.", ((64, 75),), True),
    ],
)
def test_a_lost_answer_has_the_step_at_which_it_was_lost(
    why: str, text: str, considered: tuple[tuple[int, int], ...], answered: bool
) -> None:
    expected = "in may 1932" if why == "between_sentences" else "1932"
    text = text.replace("May. 1932", "May\n\n1932")
    passages = [Passage(id="p", source="kb:bridge", text=text)] if text else []
    explained = {"sentences": [{"passage": "p", "start": start, "end": end} for start, end in considered]}

    assert loss("kb:bridge", passages, explained, answered, lambda said: says(said, expected)) == why


def test_an_answer_of_another_document_is_told_apart() -> None:
    passages = [Passage(id="p", source="kb:bridge", text=TEXT), Passage(id="o", source="kb:o", text="Birds sing.")]
    explained = {"sentences": [{"passage": "o", "start": 0, "end": 11}, {"passage": "p", "start": 19, "end": 41}]}

    assert loss("kb:bridge", passages, explained, True, lambda said: says(said, "1932")) == "other_document"


def test_losses_are_counted_by_group() -> None:
    counted = losses({"eng": ["second", "second"], "deu": ["lower"]})

    assert list(counted) == list(LOSSES)
    assert (counted["second"], counted["lower"]) == ({"eng": 2, "deu": 0}, {"eng": 0, "deu": 1})


async def test_the_report_tells_losses_and_halves(folder: Path, tmp_path: Path) -> None:
    given = await evaluate(folder, Pipeline(name="default"), embedded_settings(tmp_path / "index"))

    reported = report(given, halves=True, with_losses=True)

    halves = {f"{half_of(one.case)} {one.case.language}" for one in given}
    assert set(reported["metrics"]) == {*halves, "all"}
    assert sum(each["all"] for each in reported["losses"].values()) == 0


def test_translations_of_a_document_are_in_the_same_half() -> None:
    halves = [
        {half_of(AnswerCase("1", "?", "eng", source=f"{code}-{number}")) for code in ("en", "de", "fra")}
        for number in range(40)
    ]

    assert all(len(each) == 1 for each in halves)
    assert set.union(*halves) == {"development", "held-out"}
