"""A batch run against a gateway that is played: what is asked, kept, gone on from, and when it stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answerbus_lab.evaluation import batch_run
from answerbus_lab.evaluation.answer_judge import agreement, compare_all
from answerbus_lab.evaluation.batch_run import BatchRun, BudgetError, evaluation_in
from answerbus_lab.evaluation.batch_store import BatchStore, EvaluatedPipeline
from answerbus_lab.evaluation.file_run import FileRun
from answerbus_lab.evaluation.questions_file import QuestionItem, chains

from shared.contracts.errors import RefusedError, UnavailableError
from tests.support.scripted_models import ScriptedModels

PIPELINES = [EvaluatedPipeline("default", 1), EvaluatedPipeline("candidate", 4)]
SCORES = {"groundedness": 1.0, "relevancy": 1.0, "completeness": 1.0, "overall": 1.0}


class Gateway:
    """Answers with the question's own words; `away` calls fail first, questions that hold `bad` are refused."""

    def __init__(self, *, cost: float = 0.0, away: int = 0, evaluates: bool = True) -> None:
        self.cost, self.away, self.evaluates = cost, away, evaluates
        self.asked: list[dict[str, Any]] = []

    async def call(self, method: str, path: str, **options: Any) -> Any:
        if self.away:
            self.away -= 1
            raise UnavailableError("away (HTTP 503)")
        if path == "/api/v1/pipelines":
            return [{"name": pipeline.name, "revision": pipeline.revision} for pipeline in PIPELINES]
        if path.startswith("/api/v1/events/"):
            return self._events()
        body = options["json"]
        if "bad" in body["question"]:
            raise RefusedError("question: too long (HTTP 422)")
        self.asked.append(body)
        answer = f"About {body['question']}"
        result = {
            "outcome": "answered",
            "answer": {"content": answer, "type": "normal", "sentences": [{"text": answer, "citations": []}]},
            "citations": [],
            "confidence": 5.0,
            "context": {"language": "eng"},
            "engine": "chat",
            "timings": {"stages": [], "total_ms": 12.0},
            "usage": {"input_tokens": 10, "output_tokens": 5, "cost_usd": self.cost},
        }
        return {
            "id": f"{len(self.asked):032x}",
            "pipeline": {"name": body["pipeline"], "revision": 1},
            "result": result,
        }

    def _events(self) -> list[dict[str, Any]]:
        call = {"usage": {"cost_usd": 0.5}}
        verified = {"fact": "AnswerVerified", "payload": {"evaluation": None}, "model_calls": [call]}
        said = {"fact": "ExchangeEvaluated", "payload": {"scores": SCORES}, "model_calls": [call, call]}
        return [verified, said] if self.evaluates else [verified]


def batch(folder: Path, gateway: Gateway, pipelines: list[EvaluatedPipeline] = PIPELINES, **options: Any) -> BatchRun:
    file = folder / "q.csv"
    file.write_text("question\n")
    return BatchRun(gateway, BatchStore.open(folder / "out", file, pipelines), pipelines, **options)  # type: ignore[arg-type]


def nothing() -> None:
    return


ITEMS = [QuestionItem(line, f"question {line}?") for line in range(1, 6)]


async def test_every_question_is_asked_of_every_pipeline_on_the_background_lane(tmp_path: Path) -> None:
    gateway = Gateway()
    run = batch(tmp_path, gateway)
    told: list[int] = []

    await run.ask(run.unfinished(chains(ITEMS)), lambda: told.append(1))

    assert {(one["question"], one["pipeline"]) for one in gateway.asked} == {
        (item.question, pipeline.name) for item in ITEMS for pipeline in PIPELINES
    }
    assert {one["lane"] for one in gateway.asked} == {"background"}
    assert len(told) == 10
    assert run.store.of(PIPELINES[0])[3]["answer"] == "About question 3?"


async def test_a_run_that_was_stopped_goes_on_where_it_was_also_after_a_line_that_was_cut(tmp_path: Path) -> None:
    gateway = Gateway()
    first = batch(tmp_path, gateway)
    await first.ask(first.unfinished(chains(ITEMS))[:4], nothing)
    with (tmp_path / "out" / "answers.jsonl").open("a") as file:
        file.write('{"pipeline": "default", "li')

    second = batch(tmp_path, gateway)
    await second.ask(second.unfinished(chains(ITEMS)), nothing)

    assert len(gateway.asked) == 10
    assert len(batch(tmp_path, gateway).store.rows) == 10
    assert second.unfinished(chains(ITEMS)) == []


async def test_a_follow_up_is_asked_after_its_turns_also_when_the_run_was_stopped_between(tmp_path: Path) -> None:
    gateway = Gateway()
    talk = [QuestionItem(1, "What?", conversation="x"), QuestionItem(2, "And then?", conversation="x")]
    run = batch(tmp_path, gateway, PIPELINES[:1])
    await run.ask([(PIPELINES[0], talk[:1])], nothing)

    again = batch(tmp_path, gateway, PIPELINES[:1])
    await again.ask(again.unfinished(chains(talk)), nothing)

    assert gateway.asked[1]["turns"] == [{"question": "What?", "answer": "About What?"}]
    assert gateway.asked[0]["conversation_id"] == gateway.asked[1]["conversation_id"]
    assert len(gateway.asked) == 2


async def test_a_question_the_gateway_refuses_is_a_row_and_does_not_end_the_run(tmp_path: Path) -> None:
    run = batch(tmp_path, Gateway(), PIPELINES[:1])

    await run.ask(run.unfinished(chains([QuestionItem(1, "bad"), QuestionItem(2, "good?")])), nothing)

    rows = run.store.of(PIPELINES[0])
    assert (rows[1]["outcome"], rows[2]["outcome"]) == ("refused", "answered")
    assert "too long" in rows[1]["error"]


async def test_a_gateway_that_is_away_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    run = batch(tmp_path, Gateway(away=1), PIPELINES[:1], at_once=1)

    await run.ask(run.unfinished(chains(ITEMS[:1])), nothing)

    assert len(run.store.rows) == 1


async def test_one_that_stays_away_ends_the_run_with_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_run, "RETRY_SECONDS", 0.0)
    gateway = Gateway()
    run = batch(tmp_path, gateway, PIPELINES[:1], at_once=1)
    await run.ask(run.unfinished(chains(ITEMS[:2])), nothing)
    gateway.away = 10

    with pytest.raises(UnavailableError):
        await run.ask(run.unfinished(chains(ITEMS)), nothing)

    assert len(run.store.rows) == 2


async def test_a_run_stops_when_it_has_cost_what_it_may(tmp_path: Path) -> None:
    run = batch(tmp_path, Gateway(cost=1.0), PIPELINES[:1], at_once=1, max_cost=2.5)

    with pytest.raises(BudgetError, match=r"3\.0000 USD of 2\.5000"):
        await run.ask(run.unfinished(chains(ITEMS)), nothing)

    assert len(run.store.rows) == 3


async def test_evaluations_are_waited_for_and_cost_what_they_added(tmp_path: Path) -> None:
    run = batch(tmp_path, Gateway(cost=1.0), PIPELINES[:1])
    await run.ask(run.unfinished(chains(ITEMS[:2])), nothing)

    assert await run.evaluations(nothing) == 0
    assert run.store.of(PIPELINES[0])[1]["evaluation"] == {"scores": SCORES}
    assert run.spent == pytest.approx(2 * 1.5)


async def test_evaluations_that_never_come_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_run, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(batch_run, "POLL_SECONDS", 0.01)
    run = batch(tmp_path, Gateway(evaluates=False), PIPELINES[:1])
    await run.ask(run.unfinished(chains(ITEMS[:2])), nothing)

    assert await run.evaluations(nothing) == 2


def test_an_inline_evaluation_is_found_in_the_answer() -> None:
    events = [{"fact": "AnswerVerified", "payload": {"evaluation": {"scores": SCORES}}, "model_calls": []}]

    assert evaluation_in(events) == {"evaluation": {"scores": SCORES}, "evaluation_cost_usd": 0.0}


def test_an_answer_with_a_line_separator_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_text("question\n")
    BatchStore.open(tmp_path / "out", file, PIPELINES).put(PIPELINES[0], 2, answer="one\u2028two")

    assert BatchStore.open(tmp_path / "out", file, PIPELINES).get(PIPELINES[0], 2) == {
        "pipeline": "default",
        "line": 2,
        "answer": "one\u2028two",
    }


@pytest.mark.parametrize(
    ("text", "pipelines", "complaint"),
    [
        ("question\nother\n", PIPELINES, "holds a run of another file"),
        ("question\n", PIPELINES[:1], "holds a run of default@1, candidate@4"),
        ("question\n", [PIPELINES[0], EvaluatedPipeline("candidate", 5)], "holds a run of default@1, candidate@4"),
    ],
)
def test_a_folder_of_another_run_is_refused(
    tmp_path: Path, text: str, pipelines: list[EvaluatedPipeline], complaint: str
) -> None:
    file = tmp_path / "q.csv"
    file.write_text("question\n")
    BatchStore.open(tmp_path / "out", file, PIPELINES)
    file.write_text(text)

    with pytest.raises(RefusedError, match=complaint):
        BatchStore.open(tmp_path / "out", file, pipelines)


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"pipelines": 7}'])
def test_a_folder_of_something_else_is_refused(tmp_path: Path, manifest: str) -> None:
    file = tmp_path / "q.csv"
    file.write_text("question\n")
    (tmp_path / "run.json").write_text(manifest)

    with pytest.raises(RefusedError, match="--out"):
        BatchStore.open(tmp_path, file, PIPELINES)


async def test_the_judge_says_how_far_an_answer_is_the_expected_one_and_reads_both_as_data() -> None:
    item = QuestionItem(1, "What does it cost?", "Forty euros.")
    models = ScriptedModels(agreement=['{"agreement": 0.75}', "no number"])

    assert (await agreement(models, item, "It costs <b>forty</b> euros."))[0] == 0.75
    assert (await agreement(models, item, "Forty."))[0] is None


def file_run(folder: Path, gateway: Gateway, count: int = 9) -> FileRun:
    file = folder / "q.csv"
    file.write_text("question\n")
    items = [QuestionItem(line, f"question {line}?") for line in range(1, count + 1)]
    return FileRun(gateway, items, file, folder / "out", judge=False)  # type: ignore[arg-type]


async def test_what_the_rest_will_cost_is_said_before_it_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = Gateway(cost=0.5)

    report = await file_run(tmp_path, gateway).run(["default"], 1, 0.0, only_sample=True)

    assert len(gateway.asked) == report.as_json()["metrics"]["questions"] == 3
    assert "6 more questions will take about 90 tokens and 6.0000 USD (from 3 asked)" in capsys.readouterr().err


async def test_a_run_that_would_cost_too_much_stops_after_its_sample_and_keeps_it(tmp_path: Path) -> None:
    gateway = Gateway(cost=0.5)

    with pytest.raises(BudgetError, match=r"about 9\.0000 USD are needed and 4\.0000 allowed; raise --max-cost"):
        await file_run(tmp_path, gateway).run(["default"], 1, 4.0, only_sample=False)

    assert len(gateway.asked) == 3
    assert (tmp_path / "out" / "report.html").exists()


async def test_a_run_that_costs_what_it_may_is_done_whole(tmp_path: Path) -> None:
    report = await file_run(tmp_path, Gateway(cost=0.5)).run(["default", "candidate"], 2, 20.0, only_sample=False)

    assert report.as_json()["metrics"]["cost_usd"] == 9 * 1.0  # each answer, and its evaluation
    assert report.as_json()["against"]["comparison"]["answered"]["ties"] == 9


@pytest.mark.parametrize(
    ("names", "complaint"),
    [(["default", "default"], "--against"), (["default", "nobody"], "stored pipelines: candidate, default")],
)
async def test_pipelines_that_cannot_be_compared_are_refused(tmp_path: Path, names: list[str], complaint: str) -> None:
    with pytest.raises(RefusedError, match=complaint):
        await file_run(tmp_path, Gateway()).run(names, 1, 0.0, only_sample=False)


async def test_what_the_judge_has_no_word_on_is_left_for_the_next_try_and_no_answer_is_no_agreement(
    tmp_path: Path,
) -> None:
    run = batch(tmp_path, Gateway(), PIPELINES[:1], at_once=1)
    items = [QuestionItem(1, "a?", "x"), QuestionItem(2, "b?", "x"), QuestionItem(3, "bad", "x")]
    await run.ask(run.unfinished(chains(items)), nothing)

    models = ScriptedModels(agreement=["no number", '{"agreement": 0.5}'])
    await compare_all(models, run, [(PIPELINES[0], item) for item in items], nothing)

    assert [run.store.of(PIPELINES[0])[line].get("agreement") for line in (1, 2, 3)] == [None, 0.5, 0.0]
