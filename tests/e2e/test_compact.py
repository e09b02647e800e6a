"""`answerbus up --compact`: the workers of all stages in one process, and the promises of seven."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cli.host.catalogue import STAGES
from tests.bench.processes import listening_ports
from tests.e2e.test_kill import under_load
from tests.support.platform import Platform, cli, running, write_corpus, write_pipeline
from tests.support.reassembly import follow
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

QUESTION = "What does a library card cost?"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    root = tmp_path_factory.mktemp("compact")
    with running(root / "data", "--compact") as up:
        patient = write_pipeline(root / "default", deadline_seconds=120)
        assert cli("pipelines", "apply", str(patient), "--data", str(up.data)).returncode == 0
        done = cli("ingest", str(write_corpus(root / "corpus")), "--url", up.url)
        assert done.returncode == 0, done.stderr
        yield up


def test_it_runs_two_processes_and_answers(platform: Platform) -> None:
    answered = cli("ask", QUESTION, "--url", platform.url)
    assert answered.returncode == 0, answered.stderr
    assert "free for residents" in answered.stdout
    assert sorted(platform.processes()) == sorted((platform.together(), platform.nats_server()))
    assert platform.servers() == []


async def test_it_streams_an_answer(platform: Platform) -> None:
    async with httpx.AsyncClient(base_url=platform.url, trust_env=False) as client:
        accepted = await client.post("/api/v1/questions", json={"question": f"Please tell me: {QUESTION}"})
    streamed = await follow(platform.url, accepted.json()["id"])
    assert streamed.result is not None
    assert streamed.text == streamed.result["result"]["answer"]["content"]
    assert "free for residents" in streamed.text


def test_every_stage_reports_a_worker_of_its_own(platform: Platform) -> None:
    assert cli("ask", f"Again: {QUESTION}", "--url", platform.url).returncode == 0
    reports = json.loads(cli("stages", "--url", platform.url, "--json").stdout)
    workers = {one["stage"]: one["workers"] for one in reports}
    assert workers == dict.fromkeys(set(STAGES) - {"gateway"}, 1)


def test_its_metrics_are_told_apart_by_stage(platform: Platform) -> None:
    assert cli("ask", f"Once more: {QUESTION}", "--url", platform.url).returncode == 0
    texts = []
    with httpx.Client(trust_env=False) as client:
        for port in listening_ports(platform.together()):
            texts.append(client.get(f"http://127.0.0.1:{port}/metrics").text)
    counted = set(re.findall(r'^answerbus_stage_seconds_count\{[^}]*stage="(\w+)"', "\n".join(texts), re.MULTILINE))
    assert counted >= set(STAGES) - {"gateway"}


def test_scale_says_that_it_cannot_and_what_to_do(platform: Platform) -> None:
    refused = cli("stages", "scale", "answer=2", "--data", str(platform.data))
    assert refused.returncode != 0
    assert refused.stderr.strip().splitlines() == [
        "answerbus: this platform runs all stages in one process; start it without --compact to scale them"
    ]


def test_options_for_other_processes_are_refused_beside_it(tmp_path: Path) -> None:
    for option in (["--scale", "answer=2"], ["--in-process"]):
        refused = cli("up", "--compact", *option, "--data", str(tmp_path))
        assert refused.returncode == 2
        assert option[0] in refused.stderr


async def test_no_question_is_lost_or_doubled_when_its_one_process_is_killed(platform: Platform) -> None:
    before = platform.together()
    await under_load(platform, lambda: platform.kill(before))
    assert platform.together() != before
    assert "platform" in platform.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_on_a_signal_and_leaves_no_process_and_its_log_names_the_stages(
    tmp_path: Path, number: signal.Signals
) -> None:
    with running(tmp_path / "data", "--compact", env={"ANSWERBUS_LOG_LEVEL": "info"}) as up:
        alive = [up.process.pid, *up.processes()]
        up.process.send_signal(number)
        assert up.process.wait(limit(40)) == 0
        until = time.monotonic() + limit(10)
        while left := [pid for pid in alive if Path(f"/proc/{pid}").exists()]:
            assert time.monotonic() < until, f"{left} still run"
            time.sleep(0.05)
        said = up.log.read_text()
        assert "did not end" not in said
        assert "did not stop" not in said
        ready = re.findall(r"worker ready .*stage=(\w+)", said)
        assert sorted(ready) == sorted(STAGES)
