"""Measures of questions, runs and comparisons; and the report that shows them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from answerbus_lab.evaluation.answer_metrics import (
    against,
    changed_most,
    measures,
    metrics,
    outcome_word,
    similarity,
    spreads,
    table,
)
from answerbus_lab.evaluation.questions_file import QuestionItem
from answerbus_lab.evaluation.report import EvaluationReport

ITEM = QuestionItem(1, "What does it cost?", "It costs forty euros a year.", ("garden.md",))
EVALUATION = {
    "scores": {"groundedness": 1.0, "relevancy": 0.5, "completeness": 0.5, "overall": 0.7},
    "sentences": [
        {"text": "It costs forty euros.", "supported": True, "score": 100, "citations": [1]},
        {"text": "It <b>rains</b>.", "supported": False, "score": 0, "citations": [1]},
    ],
    "citations": [{"number": 1, "source": "kb:garden.md", "score": 20}],
}


def row(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": "0" * 32,
        "outcome": "answered",
        "type": "normal",
        "answer": "It costs forty euros. [1]",
        "citations": [{"number": 1, "source": "kb:garden.md", "title": "Garden", "url": "", "quote": ""}],
        "confidence": 8.0,
        "language": "eng",
        "total_ms": 40.0,
        "tokens": 100,
        "cost_usd": 0.01,
        "evaluation": EVALUATION,
    }
    return values | changes


@pytest.mark.parametrize(
    ("outcome", "kind", "word"),
    [
        ("answered", "normal", "answered"),
        ("answered", "structured", "answered"),
        ("answered", "not_found", "not_found"),
        ("answered", "refusal", "declined"),
        ("rejected", "refusal", "declined"),
        ("refused", "", "declined"),
        ("clarification", "clarification", "clarified"),
        ("escalated", "emergency", "escalated"),
        ("abandoned", "refusal", "abandoned"),
        ("withdrawn", "refusal", "withdrawn"),
    ],
)
def test_every_ending_has_one_word(outcome: str, kind: str, word: str) -> None:
    assert outcome_word({"outcome": outcome, "type": kind}) == word


def test_a_question_has_the_measures_that_apply_to_it() -> None:
    found = measures(ITEM, row())

    assert (found["answered"], found["abandoned"], found["confidence"], found["latency_ms"]) == (1, 0, 0.8, 40)
    assert (found["sentence_support"], found["sentence_score"], found["citation_score"]) == (0.5, 0.5, 0.8)
    assert (found["overall"], found["source_hit"]) == (0.7, 1)
    assert 0.7 < found["similarity"] < 1
    assert "agreement" not in found
    assert "similarity" not in measures(QuestionItem(1, "a?"), row())


def test_a_question_that_was_not_answered_has_no_scores_and_no_similarity_to_what_was_expected() -> None:
    found = measures(
        ITEM, row(outcome="rejected", answer="It costs forty euros a year.", citations=[], evaluation=None)
    )

    assert (found["declined"], found["similarity"], found["source_hit"]) == (1, 0, 0)
    assert "overall" not in found


@pytest.mark.parametrize(
    ("answer", "expected", "value"),
    [("forty euros", "forty euros", 1), ("", "forty euros", 0), ("forty", "forty euros", 2 / 3), ("rain", "sun", 0)],
)
def test_similarity_is_the_f1_of_stems(answer: str, expected: str, value: float) -> None:
    assert similarity(answer, expected, "eng") == pytest.approx(value)


@pytest.mark.parametrize("expected", ["garden.md", "kb:garden.md"])
def test_an_expected_source_may_be_named_with_or_without_its_kind(expected: str) -> None:
    assert measures(QuestionItem(1, "a?", expected_sources=(expected,)), row())["source_hit"] == 1
    assert measures(QuestionItem(1, "a?", expected_sources=("other.md",)), row())["source_hit"] == 0


def test_a_run_has_rates_means_percentiles_and_sums() -> None:
    rows = {1: row(), 2: row(total_ms=90.0), 3: row(outcome="abandoned", evaluation=None, total_ms=500.0)}
    items = [ITEM, QuestionItem(2, "b?"), QuestionItem(3, "c?"), QuestionItem(4, "not asked yet?")]

    measured = table(items, rows)
    told = metrics(measured)

    assert (told["questions"], told["answered_rate"], told["abandoned_rate"]) == (3, 0.666667, 0.333333)
    assert (told["latency_p50_ms"], told["latency_p99_ms"]) == (90, 500)
    assert (told["tokens"], told["cost_usd"], told["overall"]) == (300, 0.03, 0.7)
    low, high = spreads(measured)["answered_rate"]
    assert 0 <= low <= 2 / 3 <= high <= 1


def test_two_pipelines_are_compared_question_by_question() -> None:
    items = [QuestionItem(line, f"{line}?") for line in range(1, 41)]
    better = {item.line: row(total_ms=20.0) for item in items}
    worse = {
        item.line: row(
            total_ms=40.0,
            **({"outcome": "answered", "type": "not_found", "evaluation": None} if item.line <= 20 else {}),
        )
        for item in items
    }
    ours, theirs = table(items, better), table(items, worse)

    compared = against(ours, theirs)

    assert compared["answered"]["difference"] == pytest.approx(0.5)
    assert compared["answered"]["low"] > 0.3
    assert (compared["answered"]["wins"], compared["answered"]["losses"], compared["answered"]["ties"]) == (20, 0, 20)
    assert (compared["latency_ms"]["wins"], compared["latency_ms"]["difference"]) == (40, -20)
    assert compared["overall"]["queries"] == 20
    assert [line for line, _ in changed_most(ours, theirs, 5)] == [1, 2, 3, 4, 5]


class Page(HTMLParser):
    """Collects what a browser would fetch, and checks that what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.opened: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        self.fetched += [str(values[name]) for name in ("src", "href") if name in values]
        if tag != "meta":
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag


def test_the_report_is_one_page_that_fetches_nothing_and_runs_nothing_that_somebody_wrote() -> None:
    hostile = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    items = [QuestionItem(1, hostile, hostile, (hostile,)), QuestionItem(2, "Not asked?")]
    sides = [{1: row(answer=hostile, error=hostile)}, {1: row(evaluation=None, answer=hostile, total_ms=900.0)}]
    report = EvaluationReport("q.csv", items, ["default@1", "candidate@2"], sides)

    page = Page(report.as_html())

    assert page.opened == []
    assert not page.tags & {"script", "img", "iframe", "object"}
    assert [one for one in page.fetched if not one.startswith("#q")] == []
    assert {"svg", "details", "table"} <= page.tags


def test_the_report_for_programs_has_metrics_and_the_comparison() -> None:
    told = EvaluationReport(
        "q.csv", [ITEM], ["a@1", "b@1"], [{1: row()}, {1: row(type="not_found", evaluation=None)}]
    ).as_json()

    assert told["metrics"]["answered_rate"] == 1
    assert told["against"]["metrics"]["not_found_rate"] == 1
    assert told["against"]["comparison"]["answered"]["wins"] == 1
    assert [one["line"] for one in told["against"]["changed"]] == [1]
    assert "against" not in EvaluationReport("q.csv", [ITEM], ["a@1"], [{1: row()}]).as_json()


def test_a_report_of_nothing_is_one_too() -> None:
    report = EvaluationReport("q.csv", [ITEM], ["a@1", "b@1"], [{}, {}])

    assert report.as_json()["metrics"]["questions"] == 0
    assert Page(report.as_html()).opened == []
