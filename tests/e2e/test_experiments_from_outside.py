"""A shadow run from outside: live questions are asked again of a candidate, and nobody but the experiment sees it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.platform import ANSWERBUS, ROOT, cli, running, write_corpus
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

#: The candidate searches a collection that is empty, so it finds nothing.
CANDIDATE = "name: candidate\nretrieval:\n  collections: [nothing]\n"


def started(folder: Path, url: str, *options: str) -> subprocess.Popen[str]:
    command = [str(ANSWERBUS), "experiments", "start", "trial", "--candidate", "candidate", "--share", "1"]
    return subprocess.Popen(
        [*command, "--out", str(folder), "--url", url, "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ.copy(),
    )


def ask(http: httpx.Client, number: int) -> dict[str, Any]:
    body = {"question": f"How much is the rent of a garden plot for person {number}?"}
    asked: dict[str, Any] = http.post("/api/v1/query", json=body).raise_for_status().json()
    return asked


def until_counted(http: httpx.Client, questions: int) -> dict[str, Any]:
    """The statistics once they count so many questions: the last ones are recorded after they were answered."""
    until = time.monotonic() + limit(30)
    while True:
        stats: dict[str, Any] = http.get("/api/v1/stats").raise_for_status().json()
        if stats["total"] == questions:
            return stats
        assert stats["total"] < questions, stats
        assert time.monotonic() < until, stats
        time.sleep(0.1)


def kept_report(http: httpx.Client) -> dict[str, Any]:
    """The report of the only shadow run that the platform keeps."""
    (line,) = http.get("/api/v1/evaluations", params={"kind": "shadow"}).raise_for_status().json()["reports"]
    assert line["name"] == "trial"
    kept: dict[str, Any] = http.get(f"/api/v1/evaluations/{line['id']}").raise_for_status().json()["report"]
    return kept


def kept_once_without_texts(http: httpx.Client, told: dict[str, Any]) -> None:
    kept = kept_report(http)
    assert (kept["pairs"], kept["measures"], kept["candidate"]) == (told["pairs"], told["measures"], told["candidate"])
    assert kept["ended"] == told["ended"]
    assert "for person" not in json.dumps(kept)
    worst = http.get(f"/api/v1/exchanges/{kept['examples']['worse'][0]['live']}").raise_for_status().json()
    assert "for person" in worst["exchange"]["question"]


def judged_by_experts(folder: Path, url: str, pairs: int) -> None:
    """Send the pairs to experts, judge three over HTTP, and see it in the report, also without the gateway."""
    command = ("experiments", "review", "trial", "--out", str(folder), "--url", url)
    sent = cli(*command, "--title", "March")
    assert sent.returncode == 0, sent.stderr
    assert f"{pairs} pairs are before the experts" in sent.stdout
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        (review,) = http.get("/api/v1/reviews").raise_for_status().json()["reviews"]
        assert (review["title"], review["total"], review["done"]) == ("March", pairs, 0)
        for _ in range(3):
            pair = http.get(f"/api/v1/reviews/{review['id']}/next").raise_for_status().json()["pair"]
            choice = "a" if "forty euros" in pair["a"] else "b"
            path = f"/api/v1/reviews/{review['id']}/pairs/{pair['number']}"
            http.put(path, json={"choice": choice}).raise_for_status()
    show = ("experiments", "show", "trial", "--out", str(folder), "--json")
    told = json.loads(cli(*show, "--url", url).stdout)["experts"]
    assert (told["together"]["pairs"], told["together"]["live"], told["pairs"]) == (3, 3, pairs)
    assert "Experts" in (folder / "report.html").read_text()
    away = cli(*show, "--url", "http://127.0.0.1:9")
    assert "as it was read last" in away.stderr
    assert json.loads(away.stdout)["experts"] == told
    assert "which answer experts prefer" in cli(*show[:-1], "--url", url).stdout
    again = started(folder, url)
    out, err = again.communicate(timeout=limit(60))
    assert again.returncode == 1, err
    assert (json.loads(out)["experts"], json.loads(out)["halted_by_guard"]) == (told, True)
    assert "not kept on the platform" in away.stderr
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        assert kept_report(http)["experts"]["together"] == told["together"]
    assert cli(*command, "--remove").returncode == 0
    again = cli(*command, "--remove")
    assert (again.returncode, "were not sent to experts" in again.stderr) == (1, True)


def test_a_candidate_that_finds_nothing_is_halted_and_no_asker_cache_or_statistic_sees_it(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    (tmp_path / "candidate").mkdir()
    (tmp_path / "candidate" / "pipeline.yaml").write_text(CANDIDATE)
    with running(tmp_path / "data", "--in-process") as up:
        assert cli("ingest", str(write_corpus(tmp_path / "corpus")), "--url", up.url).returncode == 0
        applied = cli("pipelines", "apply", str(tmp_path / "candidate"), "--data", str(up.data))
        assert applied.returncode == 0, applied.stderr
        experiment = started(folder, up.url, "--for", "10m", "--slower", "0")
        with httpx.Client(base_url=up.url, timeout=60, trust_env=False) as http:
            live = 0
            while experiment.poll() is None and live < 200:
                asked = ask(http, live)
                assert asked["result"]["answer"]["type"] == "normal"
                live += 1
            out, err = experiment.communicate(timeout=limit(60))
            assert experiment.returncode == 1, err
            told = json.loads(out)
            assert told["halted_by_guard"], told["ended"]
            assert 20 <= told["pairs"] <= 100
            assert told["measures"]["answered"]["says"] == "worse"

            stats = until_counted(http, live)
            assert {one["pipeline"] for one in stats["pipelines"]} == {"default"}
            again = ask(http, 0)
            assert again["result"]["outcome"] == "reused"
            kept_once_without_texts(http, told)
            shadows = [json.loads(line)["shadow"] for line in (folder / "pairs.jsonl").read_text().splitlines()]
            record = http.get(f"/api/v1/exchanges/{shadows[0]['id']}").raise_for_status().json()["exchange"]
            assert (record["lane"], record["pipeline"]) == ("background", "candidate")
        shown = cli("experiments", "show", "trial", "--out", str(folder), "--json")
        assert json.loads(shown.stdout)["pairs"] == told["pairs"]
        assert (folder / "report.html").stat().st_size > 1000
        judged_by_experts(folder, up.url, told["pairs"])


def test_an_unknown_candidate_is_refused_in_one_line(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--in-process") as up:
        refused = cli(
            "experiments", "start", "trial", "--candidate", "nobody", "--out", str(tmp_path / "x"), "--url", up.url
        )
        assert refused.returncode == 1
        assert "unknown pipeline nobody" in refused.stderr
