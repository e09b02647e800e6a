"""A split of live questions from outside: who gets which arm, a failing candidate ends it, a good one is promoted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.model_server import Asked, ModelServer
from tests.support.platform import cli, running, write_corpus
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

#: Every question of the failing candidate misses its deadline; the good one answers as the live pipeline does.
FAILING = "name: failing\ngateway:\n  deadline_seconds: 0.001\n"
#: Questions that both arms are asked in the same words.
WORDS = 3
GOOD = "name: good\ndescription: as good\n"


def ask(http: httpx.Client, number: int, **more: Any) -> dict[str, Any]:
    body = {"question": f"How much is the rent of a garden plot for person {number}?", **more}
    return dict(http.post("/api/v1/query", json=body).json())


def until(found: Callable[[], Any], what: str) -> Any:
    """What `found` returns once it is something."""
    deadline = time.monotonic() + limit(30)
    while not (value := found()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return value


def arms_of(http: httpx.Client, experiment: str) -> dict[str, tuple[str, str]]:
    """The arm and the pipeline of each recorded question of an experiment."""
    page = http.get("/api/v1/exchanges", params={"experiment": experiment, "limit": 200}).raise_for_status().json()
    return {one["id"]: (one["arm"], one["pipeline"]) for one in page["exchanges"]}


def call(*arguments: str, url: str) -> dict[str, Any]:
    """The JSON of a command about experiments."""
    done = cli("experiments", *arguments, "--url", url, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def with_candidates(folder: Path, data: Path) -> None:
    for name, text in (("failing", FAILING), ("good", GOOD)):
        (folder / name).mkdir()
        (folder / name / "pipeline.yaml").write_text(text)
        applied = cli("pipelines", "apply", str(folder / name), "--data", str(data))
        assert applied.returncode == 0, applied.stderr


def test_users_keep_their_arm_and_a_good_candidate_is_promoted(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--in-process") as up, httpx.Client(base_url=up.url, timeout=60) as http:
        assert cli("ingest", str(write_corpus(tmp_path / "corpus")), "--url", up.url).returncode == 0
        with_candidates(tmp_path, up.data)
        started = call("start", "as-good", "--mode", "split", "--weights", "default=50,good=50", url=up.url)
        assert [(one["name"], one["share"]) for one in started["arms"]] == [("default", 0.5), ("good", 0.5)]
        second = cli(
            "experiments", "start", "other", "--mode", "split", "--weights", "default=1,good=1", "--url", up.url
        )
        assert second.returncode == 1
        assert "as-good splits default now" in second.stderr

        asked: dict[str, str] = {}
        for number in range(24):
            user = f"user-{number % 8}"
            asked[ask(http, number, client={"user": user})["id"]] = user
        named = ask(http, 99, pipeline="good")["id"]
        again = ask(http, 0, client={"user": "user-0"})
        assert again["result"]["outcome"] == "reused"

        def whole() -> dict[str, tuple[str, str]]:
            found = arms_of(http, "as-good")
            return found if set(asked) <= set(found) else {}

        recorded = until(whole, "not all questions are on record")
        assert named not in recorded
        by_user: dict[str, set[str]] = {}
        for question_id, user in asked.items():
            arm, pipeline = recorded[question_id]
            assert arm == pipeline
            by_user.setdefault(user, set()).add(arm)
        assert all(len(arms) == 1 for arms in by_user.values()), by_user
        assert set.union(*by_user.values()) == {"default", "good"}

        told = http.get(f"/api/v1/questions/{next(iter(asked))}/timeline").raise_for_status().json()
        assert told["experiment"] == {"experiment": "as-good", "arm": recorded[next(iter(asked))][0]}
        counted = http.get("/metrics").text
        assert 'answerbus_experiment_questions_total{arm="good",experiment="as-good"}' in counted

        for number in range(100, 180):
            ask(http, number, client={"user": f"user-{number}"})

        def by_language() -> Any:
            shown = call("show", "as-good", "--report", str(tmp_path / "report"), url=up.url)
            found = [one for one in shown["segments"] if one["segment"] == "language"]
            return found[0] if found else None

        english = until(by_language, "no language has twenty questions of each arm")
        assert (english["value"], [one["arm"] for one in english["arms"]]) == ("eng", ["default", "good"])
        assert {one["says"] for one in english["differences"]} == {"open"}
        page = (tmp_path / "report" / "report.html").read_text()
        assert "By language" in page
        assert "segments are compared" in page

        before = http.get("/api/v1/pipelines/default").json()["revision"]
        promoted = call("promote", "as-good", url=up.url)
        now = http.get("/api/v1/pipelines/default").json()
        assert promoted["status"] == "promoted"
        assert promoted["revision"] == now["revision"] > before
        assert now["document"]["description"] == "as good"
        report = until(
            lambda: http.get("/api/v1/evaluations", params={"kind": "experiment"}).json()["reports"],
            "the fact is not on record",
        )
        assert report[0]["name"] == "as-good"
        kept = http.get(f"/api/v1/evaluations/{report[0]['id']}").json()["report"]
        assert "language" in {one["segment"] for one in kept["segments"]}
        late = ask(http, 200)["id"]
        until(lambda: http.get(f"/api/v1/exchanges/{late}").status_code == 200, "not on record")
        assert late not in arms_of(http, "as-good")


def test_a_failing_candidate_is_halted_by_the_platform_and_everybody_gets_the_live_pipeline_again(
    tmp_path: Path,
) -> None:
    with running(tmp_path / "data", "--in-process") as up, httpx.Client(base_url=up.url, timeout=60) as http:
        assert cli("ingest", str(write_corpus(tmp_path / "corpus")), "--url", up.url).returncode == 0
        with_candidates(tmp_path, up.data)
        dry = ("doomed", "--mode", "split", "--weights", "default=50,failing=50", "--dry-run", "--url", up.url)
        planned = cli("experiments", "start", *dry)
        assert "four of five experiments halt a candidate that fails in" in planned.stderr
        assert http.get("/api/v1/experiments").json()["experiments"] == []
        started = call("start", "doomed", "--mode", "split", "--weights", "default=50,failing=50", url=up.url)

        asked = 0
        while call("show", "doomed", url=up.url)["status"] == "running":
            for number in range(asked, asked + 10):
                ask(http, number)
            asked += 10
            assert asked < 400, "no guard has halted it"
        ended = call("show", "doomed", url=up.url)
        figures = {one["arm"]: one for one in ended["figures"]["arms"]}
        assert (ended["status"], ended["guard"], ended["arm"]) == ("halted", "errors", "failing")
        assert 20 <= figures["failing"]["questions"] <= 100
        assert figures["default"]["errors"] == 0

        shown = call("show", "doomed", "--report", str(tmp_path / "report"), url=up.url)
        assert [one["arm"] for one in shown["sides"]] == ["default", "failing"]
        assert {(one["arm"], one["better"]) for one in shown["examples"]} == {("failing", False)}
        page = (tmp_path / "report" / "report.html").read_text()
        assert "errors of failing" in page
        assert "This took too long and was given up." in page
        assert json.loads((tmp_path / "report" / "report.json").read_text())["examples"] == shown["examples"]

        fact = until(lambda: http.get(f"/api/v1/events/{started['id']}").json(), "no fact on the log")[0]
        assert (fact["fact"], fact["payload"]["guard"]) == ("ExperimentEnded", "errors")
        since = {ask(http, 1000 + number)["result"]["outcome"] for number in range(20)}
        assert since == {"answered"}
        listed = cli("experiments", "list", "--url", up.url)
        assert "halted" in listed.stdout
        stopped = cli("experiments", "stop", "doomed", "--url", up.url)
        assert (stopped.returncode, "has ended" in stopped.stderr) == (1, True)


def judged_by_an_expert(http: httpx.Client, folder: Path) -> None:
    """Send the pairs of the split, and prefer those answers that say forty euros."""
    command = ("experiments", "review", "words", "--out", str(folder), "--url", str(http.base_url))
    sent = cli(*command, "--title", "March")
    assert sent.returncode == 0, sent.stderr
    assert f"{WORDS} pairs are before the experts" in sent.stdout
    (review,) = http.get("/api/v1/reviews").raise_for_status().json()["reviews"]
    for _ in range(WORDS):
        pair = http.get(f"/api/v1/reviews/{review['id']}/next").raise_for_status().json()["pair"]
        choice = "a" if "forty euros" in pair["a"] else "b"
        path = f"/api/v1/reviews/{review['id']}/pairs/{pair['number']}"
        http.put(path, json={"choice": choice}).raise_for_status()


def for_forty(asked: Asked) -> str:
    """The reply of a judge that prefers the answer that says forty."""
    first = asked.user.partition("<first_answer>")[2].partition("</first_answer>")[0]
    return json.dumps({"better": "first" if "forty" in first else "second"})


def test_what_both_arms_have_answered_in_the_same_words_is_compared_by_experts_and_a_judge(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "pipeline.yaml").write_text("name: empty\nretrieval:\n  collections: [nothing]\n")
    folder = tmp_path / "kept"
    with (
        running(tmp_path / "data", "--in-process") as up,
        httpx.Client(base_url=up.url, timeout=60) as http,
        ModelServer(for_forty) as server,
    ):
        assert cli("ingest", str(write_corpus(tmp_path / "corpus")), "--url", up.url).returncode == 0
        applied = cli("pipelines", "apply", str(tmp_path / "empty"), "--data", str(up.data))
        assert applied.returncode == 0, applied.stderr
        call("start", "words", "--mode", "split", "--weights", "default=50,empty=50", url=up.url)
        nothing = cli("experiments", "review", "words", "--out", str(folder), "--url", up.url)
        assert (nothing.returncode, "no question of the same words" in nothing.stderr) == (1, True)
        for user in range(12):
            for number in range(WORDS):
                ask(http, number, client={"user": f"user-{user}"})
        path = "/api/v1/experiments/words/pairs"
        until(lambda: len(http.get(path).raise_for_status().json()["pairs"]) == WORDS, "no pairs on record")

        judged_by_an_expert(http, folder)
        models = {
            "endpoints": [{"name": "scripted", "model": "any", "base_url": server.url, "json_mode": "object"}],
            "roles": {"judge": ["scripted"]},
        }
        command = ("experiments", "judge", "words", "--out", str(folder), "--url", up.url, "--json")
        done = cli(*command, env={"ANSWERBUS_MODELS": json.dumps(models)})
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert {name: told["judge"]["empty"][name] for name in ("pairs", "live", "swayed")} == {
            "pairs": WORDS,
            "live": WORDS,
            "swayed": 0,
        }
        assert (told["experts"]["empty"]["together"]["live"], told["status"]) == (WORDS, "running")
        assert len(server.asked) == 2 * WORDS
        again = cli(*command, env={"ANSWERBUS_MODELS": json.dumps(models)})
        assert json.loads(again.stdout)["judge"] == told["judge"]
        assert len(server.asked) == 2 * WORDS

        kept = "".join(one.read_text() for one in (folder / "empty").iterdir())
        assert "garden" not in kept.replace("kb:garden", "")
        shown = cli(
            "experiments", "show", "words", "--out", str(folder), "--report", str(tmp_path / "report"), "--url", up.url
        )
        assert "empty: which answer is better" in shown.stdout
        assert "empty: which answer experts prefer" in shown.stdout
        assert "Answers to the same words" in (tmp_path / "report" / "report.html").read_text()
        removed = cli("experiments", "review", "words", "--out", str(folder), "--url", up.url, "--remove")
        assert removed.returncode == 0, removed.stderr
        assert http.get("/api/v1/reviews").json()["reviews"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--weights", "default=90"], "name the live pipeline and a candidate"),
        (["--weights", "default=90,nobody=10"], "there is no pipeline 'nobody'"),
        (["--weights", "default=90,default=x"], "write NAME=WEIGHT"),
        (["--weights", "default=1,default@99=1"], "no revision 99"),
    ],
)
def test_a_split_that_cannot_be_is_refused_in_one_line(arguments: list[str], said: str, shared_platform: str) -> None:
    refused = cli("experiments", "start", "trial", "--mode", "split", *arguments, "--url", shared_platform)
    assert refused.returncode in (1, 2)
    assert said in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def shared_platform(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("refused") / "data", "--in-process") as up:
        yield up.url
