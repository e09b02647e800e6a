"""Forgetting as an operator does it, while persistence dies; every file of the platform is searched for the words."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from tests.support.platform import Platform, cli, running, write_corpus
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

#: What was asked, as a word that is in no document.
SECRET = "zyxquwertvbnalsk"
MINE = {"client": {"user": "ann"}, "conversation_id": "mine"}


def holding(folder: Path) -> list[str]:
    """The files that have the word, whatever its letters' case."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and SECRET.encode() in path.read_bytes().lower():
            found.append(str(path.relative_to(folder)))
    return found


def asked(platform: Platform, text: str, **fields: object) -> str:
    """Ask and wait for the answer; the question's id."""
    with httpx.Client(base_url=platform.url, timeout=30, trust_env=False) as client:
        answer = client.post("/api/v1/query", json={"question": text, **fields}).json()
    return str(answer["id"])


def rated(platform: Platform, question: str, comment: str) -> int:
    with httpx.Client(base_url=platform.url, timeout=30, trust_env=False) as client:
        body = {"rating": "up", "comment": comment}
        return client.post(f"/api/v1/questions/{question}/feedback", json=body).status_code


def until_recorded(platform: Platform, *questions: str) -> None:
    deadline = time.monotonic() + limit(20)
    while not set(questions) <= set(platform.recorded()):
        assert time.monotonic() < deadline, "not recorded"
        time.sleep(0.05)


def test_an_asker_is_forgotten_off_every_disk_though_persistence_dies_meanwhile(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as platform:
        assert cli("ingest", str(write_corpus(tmp_path / "corpus")), "--url", platform.url).returncode == 0
        mine = [asked(platform, f"How do I get a library card in {SECRET} {n}?", **MINE) for n in ("town", "city")]
        other = asked(platform, "What does a plot in the community garden cost?", client={"user": "bob"})
        assert rated(platform, mine[0], f"They know {SECRET}, write to {SECRET}@example.org.") == 202
        until_recorded(platform, *mine, other)
        before = holding(data)

        platform.kill(platform.worker("persistence"))
        arguments = ("forget", "--asker", "local", "--user", "ann", "--yes", "--json", "--url", platform.url)
        forgotten = cli(*arguments)
        again = cli(*arguments)

        assert [path for path in before if "nats" in path]
        assert [path for path in before if "record" in path]
        assert forgotten.returncode == 0, forgotten.stderr
        report = json.loads(forgotten.stdout)
        assert (report["status"], report["questions"], report["erased"]["exchanges"]) == ("done", 2, 2)
        assert json.loads(again.stdout)["questions"] == 0
        assert holding(data) == []
        assert cli("events", "show", mine[0], "--url", platform.url).returncode != 0
        assert cli("events", "show", other, "--url", platform.url).returncode == 0
        assert set(platform.recorded()) == {other}
    assert holding(data) == []


def test_forget_wants_to_know_exactly_one_thing(tmp_path: Path) -> None:
    for arguments in ([], ["--question", "x", "--conversation", "y"], ["--user", "ann"]):
        told = cli("forget", *arguments, "--yes", "--url", "http://127.0.0.1:9")
        assert told.returncode == 2
        assert "--conversation ID" in told.stderr
