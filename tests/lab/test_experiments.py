"""Experiments: intervals that hold at every look, guards, and the run of a shadow against a gateway that is played."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from answerbus_lab.experiments import shadow as shadows
from answerbus_lab.experiments.confidence_sequence import LEAST, detectable, estimate
from answerbus_lab.experiments.guards import Halt, Limits, halted
from answerbus_lab.experiments.judge import PairJudgement
from answerbus_lab.experiments.pairs import Pair, Side, compared, verdict
from answerbus_lab.experiments.report import ExperimentReport
from answerbus_lab.experiments.run_folder import begin, finish, report_of
from answerbus_lab.experiments.shadow import ShadowRun, read_pairs, resolved

from shared.contracts.errors import NotFoundError, RefusedError

MANY = Limits(most=10_000)


def pair(number: int, live: dict[str, Any] | None = None, shadow: dict[str, Any] | None = None, **of: Any) -> Pair:
    good = {"outcome": "answered", "type": "normal", "answer": "yes", "overall": 0.9, "elapsed_ms": 100.0}
    sides = [
        Side.model_validate({"id": f"{number:031x}{which}", "pipeline": name, **good, **(values or {})})
        for which, (name, values) in enumerate((("default@1", live), ("candidate@2", shadow)))
    ]
    return Pair(**{"question": f"Question {number}?", "language": "eng", "live": sides[0], "shadow": sides[1], **of})


def drawn(chance: random.Random, *, answered: float, overall: float) -> dict[str, Any]:
    """A side that answers with this probability, with scores around `overall`."""
    if chance.random() >= answered:
        return {"type": "not_found", "overall": None, "elapsed_ms": chance.uniform(50, 200)}
    score = min(1.0, max(0.0, chance.gauss(overall, 0.15)))
    return {"overall": score, "elapsed_ms": chance.uniform(50, 200)}


def first_halt(seed: int, candidate: dict[str, float], most: int, every: int) -> int:
    """After how many questions a guard halts the experiment; 0: it does not."""
    chance = random.Random(seed)
    pairs: list[Pair] = []
    for number in range(1, most + 1):
        live = drawn(chance, answered=0.85, overall=0.8)
        pairs.append(pair(number, live, drawn(chance, **candidate)))
        if number % every == 0 and (halt := halted(pairs, MANY)) and halt.harmful:
            return number
    return 0


def test_an_equal_candidate_is_halted_in_at_most_five_of_a_hundred_experiments_looked_at_every_fifty_questions() -> (
    None
):
    alarms = [bool(first_halt(seed, {"answered": 0.85, "overall": 0.8}, most=400, every=50)) for seed in range(200)]
    assert sum(alarms) <= 10


@pytest.mark.parametrize(
    "candidate",
    [{"answered": 0.0, "overall": 0.0}, {"answered": 0.85, "overall": 0.5}],
    ids=["finds nothing", "invents"],
)
def test_a_candidate_that_is_much_worse_is_halted_within_a_hundred_questions(candidate: dict[str, float]) -> None:
    halts = [first_halt(seed, candidate, most=100, every=1) for seed in range(20)]
    assert all(LEAST <= one <= 100 for one in halts), halts


def test_the_interval_holds_the_mean_at_every_look_in_19_of_20_series() -> None:
    missed = 0
    for seed in range(200):
        chance = random.Random(seed)
        values = [chance.gauss(0.3, 1.0) for _ in range(1000)]
        looks = (estimate(values[:count]) for count in range(LEAST, 1001, 70))
        missed += any(not one.low <= 0.3 <= one.high for one in looks)
    assert missed <= 10


def test_nothing_is_said_before_there_are_twenty_observations() -> None:
    early = estimate([-1.0] * (LEAST - 1))
    assert (early.above, early.below) == (False, False)
    assert estimate([-1.0] * LEAST).below
    assert estimate([]).count == 0


def test_the_first_failure_after_many_answers_is_no_proof() -> None:
    one = estimate([0.0] * 30 + [1.0])
    assert one.low < 0 < one.mean < one.high


def test_more_questions_detect_smaller_differences() -> None:
    sizes = [detectable(count, 0.5) for count in (50, 200, 1000)]
    assert sizes == sorted(sizes, reverse=True)
    assert 0.1 < sizes[1] < 0.2


def test_verdicts_know_which_direction_is_better() -> None:
    pairs = [pair(number, {"elapsed_ms": 100.0}, {"elapsed_ms": 60.0, "overall": 0.5}) for number in range(40)]
    found = compared(pairs)
    assert verdict("elapsed_ms", found["elapsed_ms"]) == "better"
    assert verdict("overall", found["overall"]) == "worse"
    assert verdict("answered", found["answered"]) == "open"


def test_an_experiment_ends_when_it_is_slow_dear_or_has_enough() -> None:
    slow = [pair(number, None, {"elapsed_ms": 1000.0}) for number in range(30)]
    assert "times as slow" in (halted(slow, MANY) or pytest.fail("not halted")).reason
    assert halted(slow, Limits(most=10_000, slower=0)) is None
    dear = [pair(number, None, {"cost_usd": 0.01}) for number in range(30)]
    ended = halted(dear, Limits(most=10_000, max_cost=0.25))
    assert ended is not None
    assert (ended.harmful, "USD" in ended.reason) == (False, True)
    ended = halted([pair(number) for number in range(30)], Limits(most=30))
    assert ended is not None
    assert not ended.harmful
    assert halted([], MANY) is None


class Gateway:
    """Live questions of two pipelines, and replays that are on record at the second look."""

    def __init__(self, count: int) -> None:
        self.live = {f"{number:032x}": ("default", "answered") for number in range(1, count + 1)}
        self.looked: dict[str, int] = {}
        self.replayed: list[tuple[str, str]] = []

    async def call(self, method: str, path: str, **options: Any) -> Any:
        if path == "/api/v1/pipelines":
            return [{"name": "default", "revision": 1}, {"name": "candidate", "revision": 4}]
        if path == "/api/v1/exchanges":
            return self._page(options["params"])
        question_id = path.split("/")[4]
        if method == "POST":
            if self.live[question_id][1] == "gone":
                raise NotFoundError("no question (HTTP 404)")
            self.replayed.append((question_id, options["json"]["pipeline"]))
            return {"id": f"f{question_id[1:]}"}
        self.looked[question_id] = self.looked.get(question_id, 0) + 1
        if question_id.startswith("f") and self.looked[question_id] < 2:
            raise NotFoundError("no exchange (HTTP 404)")
        pipeline, revision = ("candidate", 4) if question_id.startswith("f") else ("default", 1)
        return {"exchange": self._exchange(question_id, pipeline, revision)}

    def _page(self, params: dict[str, Any]) -> dict[str, Any]:
        assert (params["lane"], params["pipeline"]) == ("live", "default")
        newest_first = [{"id": one, "outcome": self.live[one][1]} for one in sorted(self.live, reverse=True)]
        start = int(params.get("after") or 0)
        page = newest_first[start : start + 7]
        return {"exchanges": page, "after": str(start + 7) if start + 7 < len(newest_first) else ""}

    def _exchange(self, question_id: str, pipeline: str, revision: int) -> dict[str, Any]:
        return {
            "id": question_id,
            "pipeline": pipeline,
            "pipeline_revision": revision,
            "question": f"Question {question_id[-3:]}?",
            "language": "eng",
            "outcome": "answered",
            "answer_text": "yes",
            "answer": {"type": "normal"},
            "scores": {"overall": 0.9},
            "confidence": 8.0,
            "elapsed_ms": 50.0,
            "usage": {"cost_usd": 0.0},
            "citations": [{"source": "kb:a.md"}],
            "context": {"department": "rent"},
            "details": {},
        }


def run_of(gateway: Gateway, folder: Path, *, share: float = 1.0, most: int = 20) -> ShadowRun:
    return ShadowRun(gateway, "trial", "default", "candidate@4", share, Limits(most), folder)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadows, "LOOK", 0.01)
    monkeypatch.setattr(shadows, "POLL", 0.001)


async def test_every_live_question_is_asked_once_of_the_candidate_and_kept(tmp_path: Path) -> None:
    gateway = Gateway(20)
    run = run_of(gateway, tmp_path)
    run.open()
    advanced: list[int] = []
    halt = await run.run(60, lambda: advanced.append(1))
    assert (halt.harmful, len(run.pairs), len(advanced)) == (False, 20, 20)
    assert sorted(gateway.replayed) == [(one, "candidate@4") for one in sorted(gateway.live)]
    assert read_pairs(tmp_path) == run.pairs


def test_a_share_is_the_same_questions_whenever_it_is_drawn(tmp_path: Path) -> None:
    ended = [{"id": f"{number:032x}", "outcome": "answered"} for number in range(1000)]
    runs = [run_of(Gateway(0), tmp_path, share=0.2) for _ in range(2)]
    first, again = ([one["id"] for one in ended if run._chooses(one)] for run in runs)
    assert first == again
    assert 150 < len(first) < 250


async def test_what_was_stopped_reused_or_erased_is_not_asked_again(tmp_path: Path) -> None:
    gateway = Gateway(5)
    for one, outcome in zip(sorted(gateway.live), ("rejected", "reused", "gone", "withdrawn", "answered"), strict=True):
        gateway.live[one] = ("default", outcome)
    run = run_of(gateway, tmp_path, most=1)
    run.open()
    await run.run(60, lambda: None)
    assert [one for one, _ in gateway.replayed] == [f"{5:032x}"]
    assert run.skipped == 1


async def test_a_run_goes_on_where_it_was_stopped_and_no_pair_is_of_another_candidate(tmp_path: Path) -> None:
    gateway = Gateway(6)
    run = run_of(gateway, tmp_path, most=4)
    run.open()
    await run.run(60, lambda: None)
    with (tmp_path / "pairs.jsonl").open("a") as file:
        file.write('{"question": "cut o')
    again = run_of(gateway, tmp_path, most=6)
    again.open()
    assert len(again.pairs) >= 4
    await again.run(60, lambda: None)
    assert len({one for one, _ in gateway.replayed}) == len(gateway.replayed) == 6
    other = ShadowRun(gateway, "trial", "default", "candidate@5", 1, MANY, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match="candidate@4"):
        other.open()


async def test_a_candidate_is_its_newest_revision_unless_one_is_named() -> None:
    gateway = Gateway(0)
    assert await resolved(gateway, "candidate") == "candidate@4"  # type: ignore[arg-type]
    assert await resolved(gateway, "candidate@2") == "candidate@2"  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="stored pipelines: candidate, default"):
        await resolved(gateway, "other")  # type: ignore[arg-type]


def test_a_report_tells_what_is_better_and_worse_with_examples_and_loads_nothing(tmp_path: Path) -> None:
    missing = {"type": "not_found", "overall": None, "answer": "nothing <script>"}
    pairs = [pair(number, missing if number % 2 else None, language="fra") for number in range(40)]
    pairs += [pair(50, None, missing)]
    report = ExperimentReport("trial", "default", "candidate@2", pairs, halted(pairs, Limits(most=41)))
    report.write(tmp_path)
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["pairs"] == 41
    assert told["measures"]["answered"]["says"] == "better"
    assert list(told["segments"]["language"]) == ["fra"]
    assert (len(told["better"]), len(told["worse"])) == (10, 1)
    page = (tmp_path / "report.html").read_text()
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def judged(folder: Path, pairs: list[Pair]) -> None:
    """A judge model has said that the candidate's answers are better."""
    said = [
        PairJudgement(live=one.live.id, shadow=one.shadow.id, straight="second", swapped="first", cost_usd=0.001)
        for one in pairs
    ]
    (folder / "judgements.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in said))


async def test_a_run_that_goes_on_keeps_the_judges_part_in_its_report(tmp_path: Path) -> None:
    gateway = Gateway(30)
    run = run_of(gateway, tmp_path, most=20)
    run.open()
    begin(run)
    finish(run, await run.run(60, lambda: None))
    judged(tmp_path, run.pairs)
    again = run_of(gateway, tmp_path, most=25)
    again.open()
    begin(again)
    assert report_of("trial", tmp_path).halt is None
    finish(again, await again.run(60, lambda: None))
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["pairs"] >= 25
    assert (told["judge"]["pairs"], told["judge"]["candidate"]) == (20, 20)
    assert "as many as were wanted" in told["ended"]
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Judge</h2>" in page


async def test_a_report_that_is_written_again_says_why_the_run_ended(tmp_path: Path) -> None:
    run = run_of(Gateway(0), tmp_path)
    run.open()
    begin(run)
    finish(run, Halt("answered is worse", harmful=True))
    report = report_of("trial", tmp_path)
    assert (report.halt, report.candidate) == (Halt("answered is worse", harmful=True), "candidate@4")
    begin(run)
    finish(run, None)  # interrupted
    assert report_of("trial", tmp_path).halt is None


def test_a_run_whose_folder_cannot_be_read_is_refused_before_a_question_is_asked(tmp_path: Path) -> None:
    run = run_of(Gateway(1), tmp_path)
    run.open()
    (tmp_path / "judgements.jsonl").write_text("nonsense\n")
    with pytest.raises(RefusedError, match="does not hold judgements"):
        begin(run)
    (tmp_path / "judgements.jsonl").unlink()
    (tmp_path / "run.json").write_text("nonsense")
    with pytest.raises(RefusedError, match=r"run\.json"):
        begin(run)
