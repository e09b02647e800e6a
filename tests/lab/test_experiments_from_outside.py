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
            shadows = [json.loads(line)["shadow"] for line in (folder / "pairs.jsonl").read_text().splitlines()]
            record = http.get(f"/api/v1/exchanges/{shadows[0]['id']}").raise_for_status().json()["exchange"]
            assert (record["lane"], record["pipeline"]) == ("background", "candidate")
        shown = cli("experiments", "show", "trial", "--out", str(folder), "--json")
        assert json.loads(shown.stdout)["pairs"] == told["pairs"]
        assert (folder / "report.html").stat().st_size > 1000


def test_an_unknown_candidate_is_refused_in_one_line(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--in-process") as up:
        refused = cli(
            "experiments", "start", "trial", "--candidate", "nobody", "--out", str(tmp_path / "x"), "--url", up.url
        )
        assert refused.returncode == 1
        assert "unknown pipeline nobody" in refused.stderr
