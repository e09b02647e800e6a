"""`answerbus doctor` on three nodes of NATS: what it says while all are there, and after one and two have ended."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.contracts import subjects
from tests.support.cluster import Cluster, cluster
from tests.support.platform import cli
from tests.support.speed import limit

THREE = {"ANSWERBUS_REPLICAS": "3"}
LOG = f"stream {subjects.STREAM}"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path / "nats") as nodes:
        yield nodes


def _provision(servers: Cluster, replicas: int) -> None:
    until = time.monotonic() + limit(60)
    while True:  # the nodes elect their first leader
        done = cli("bus", "provision", "--nats-url", servers.urls, env={"ANSWERBUS_REPLICAS": str(replicas)})
        if done.returncode == 0:
            return
        assert time.monotonic() < until, done.stderr
        time.sleep(0.5)


def _doctor(servers: Cluster, folder: Path, env: dict[str, str]) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and for each check its verdict and detail."""
    done = cli("doctor", "--port", "0", "--data", str(folder), "--nats-url", servers.urls, "--json", env=env)
    checks: list[dict[str, Any]] = json.loads(done.stdout)
    return done.returncode, {one["check"]: (one["verdict"], one["detail"]) for one in checks}


def _until(servers: Cluster, folder: Path, verdict: str, detail: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """What the doctor says once it says this of the log, and that nothing fails: elections are over.

    With `ok`, it says so of the log's consumers, too.
    """
    checks = (LOG, f"consumers of {subjects.STREAM}") if verdict == "ok" else (LOG,)
    until = time.monotonic() + limit(60)
    while True:
        code, told = _doctor(servers, folder, THREE)
        if code == 0 and all(told[one][0] == verdict for one in checks) and detail in told[LOG][1]:
            return code, told
        assert time.monotonic() < until, told


def test_doctor_tells_nodes_copies_and_quorum_before_and_after_nodes_end(tmp_path: Path, servers: Cluster) -> None:
    # Given three nodes with three copies of everything
    _provision(servers, 3)
    # Then each node, stream and consumer has its line, and nothing fails
    code, told = _until(servers, tmp_path, "ok", "3 of 3 copies up to date")
    assert code == 0
    for node in servers.nodes:
        verdict, detail = told[f"node 127.0.0.1:{node.port}"]
        assert (verdict, detail.partition(",")[0]) == ("ok", node.name)
    assert told["quorum"] == ("ok", "3 of 3 nodes answer, 1 may end")
    consumers = told[f"consumers of {subjects.STREAM}"]
    assert consumers[0] == "ok"
    assert "led by n" in consumers[1]
    assert told["space"][0] == "ok"
    assert {name for name in told if name.startswith("stream ")} >= {LOG, "stream KV_answers", "stream OBJ_documents"}

    # When a node that does not lead the log ends
    async def follower() -> str:
        async with servers.client() as client:
            return (await servers.follower(client)).name

    ended = servers.named(asyncio.run(follower()))
    ended.kill()
    # Then it is named with what it had copies of; no question is lost, and one more death would stop the platform
    code, told = _until(servers, tmp_path, "warn", f"2 of 3 copies up to date ({ended.name} ")
    assert code == 0
    verdict, detail = told[f"node 127.0.0.1:{ended.port}"]
    assert (verdict, "does not answer: start it" in detail) == ("warn", True)
    assert told["quorum"] == (
        "warn",
        "2 of 3 nodes answer: if one more ends, no question is stored; start the missing ones",
    )
    assert f"({ended.name} " in told[f"consumers of {subjects.STREAM}"][1]
    # When a second one ends
    other = next(node for node in servers.nodes if node.process is not None)
    other.kill()
    # Then nothing can be stored, and the command fails
    code, told = _doctor(servers, tmp_path, THREE)
    assert (code, told["quorum"][0]) == (1, "fail")
    assert told["quorum"][1].startswith("1 of 3 nodes answer, 2 and a leader are needed: no question is stored")
    # And when both are back, all is well again
    ended.start()
    other.start()
    code, told = _until(servers, tmp_path, "ok", "3 of 3 copies up to date")
    assert (code, told["quorum"][0]) == (0, "ok")


def test_streams_with_fewer_copies_than_configured_fail_with_what_to_do(tmp_path: Path, servers: Cluster) -> None:
    # Given a cluster whose streams were made with one copy
    _provision(servers, 1)
    # Then a platform that is configured with three is told to make them
    code, told = _doctor(servers, tmp_path, THREE)
    verdict, detail = told[LOG]
    assert (code, verdict) == (1, "fail")
    assert detail.startswith("on 1 of 3 nodes (ANSWERBUS_REPLICAS): lost with the disk of n")
    assert detail.endswith("run: answerbus bus provision")
    # And where nothing is configured, that one copy is not safe
    code, told = _doctor(servers, tmp_path, {})
    assert (code, told[LOG][0], told["replicas"][0]) == (0, "ok", "warn")
    assert "ANSWERBUS_REPLICAS=3" in told["replicas"][1]
