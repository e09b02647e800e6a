"""Cells: two whole platforms behind a proxy that hashes a key of the request, one of them killed under load.

The proxy is deploy/cells.nginx.conf with other ports.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.integration.rig import until
from tests.support.child import default_signals
from tests.support.platform import ROOT, Platform, cli, running, write_corpus
from tests.support.servers import free_port, missing
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

CONFIG = ROOT / "deploy" / "cells.nginx.conf"
#: Conversations that ask at once, each with its own key of the hash.
KEYS = [f"conversation-{number}" for number in range(12)]
DEADLINE = 60.0
NUMBERS = itertools.count(1)


@dataclass
class Answers:
    """What the questions of one key came to: those that were accepted, those that ended, and the refusals."""

    accepted: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    refused: list[httpx.Response] = field(default_factory=list)


@dataclass(frozen=True)
class Cells:
    """Two platforms, and the URL of the proxy before them."""

    url: str
    first: Platform
    second: Platform


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    root = tmp_path_factory.mktemp("cells")
    with (
        running(root / "a", "--compact") as first,
        running(root / "b", "--compact") as second,
        proxy(root, [first, second]) as url,
    ):
        for cell in (first, second):
            assert cli("ingest", str(write_corpus(root / "corpus")), "--url", cell.url).returncode == 0
        yield Cells(url, first, second)


@contextlib.contextmanager
def proxy(folder: Path, cells: list[Platform]) -> Iterator[str]:
    """The packaged configuration before these platforms; its URL."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
    if nginx is None:
        missing("nginx", "it is not installed (apt-get install nginx-light)")
    port = free_port()
    text = CONFIG.read_text("utf-8").replace("/tmp/", f"{folder}/").replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    for address, cell in zip(("127.0.0.1:8081", "127.0.0.1:8082"), cells, strict=True):
        assert address in text
        text = text.replace(address, f"127.0.0.1:{cell.port}")
    config = folder / "nginx.conf"
    config.write_text(text)
    process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(config)], preexec_fn=default_signals)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


async def ask(client: httpx.AsyncClient, key: str, answers: Answers) -> None:
    """Ask a question under the key, and wait until it has ended or the cell that has it does not reply."""
    headers = {"Answerbus-Cell": key}
    body = {"question": f"What is the rent of a garden plot? ({key} {next(NUMBERS)})"}
    reply = await client.post("/api/v1/questions", json=body, headers=headers)
    if reply.status_code != 202:
        answers.refused.append(reply)
        return
    question = reply.json()["id"]
    answers.accepted.append(question)
    if await ends(client, key, question):
        answers.ended.append(question)


async def ends(client: httpx.AsyncClient, key: str, question: str) -> bool:
    """Whether the question ends in time, asked through the proxy; False as soon as its cell does not reply."""
    until = time.monotonic() + limit(DEADLINE)
    while time.monotonic() < until:
        reply = await client.get(f"/api/v1/questions/{question}", headers={"Answerbus-Cell": key})
        if reply.status_code == 503:
            return False
        assert reply.status_code == 200, reply.text
        if "result" in reply.json():
            return True
        await asyncio.sleep(0.1)
    raise AssertionError(f"question {question} of {key} did not end")


async def load(client: httpx.AsyncClient, key: str, answers: Answers, stop: asyncio.Event) -> None:
    """One question after the other until told to stop."""
    while not stop.is_set():
        await ask(client, key, answers)
        await asyncio.sleep(0.1)


async def cell_of(key: str, answers: Answers, cells: list[Platform]) -> Platform:
    """The platform that has the key's questions; the other one must know none of them."""
    having = []
    for cell in cells:
        async with httpx.AsyncClient(base_url=cell.url, trust_env=False) as client:
            found = {(await client.get(f"/api/v1/questions/{each}")).status_code for each in answers.accepted}
        assert len(found) == 1, f"the questions of {key} are in several cells"
        having += [cell] if found == {200} else []
    assert len(having) == 1
    return having[0]


def kill(platform: Platform) -> None:
    """Every process of the platform at once, as a power failure would."""
    children = [*platform.servers(), *platform.processes()]
    platform.kill(platform.process.pid)
    platform.process.wait(10)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            platform.kill(pid)


async def test_a_browser_stays_in_the_cell_of_its_cookie(cells: Cells) -> None:
    """Without a header, the first response names the cell, and what follows goes there: the other one replies 404."""
    for _ in range(6):
        async with httpx.AsyncClient(base_url=cells.url, trust_env=False, timeout=limit(30)) as client:
            asked = (await client.post("/api/v1/questions", json={"question": "What is a garden plot?"})).json()
            assert "answerbus_cell" in client.cookies
            for _ in range(3):
                found = await client.get(f"/api/v1/questions/{asked['id']}")
                assert found.status_code == 200
                assert "set-cookie" not in found.headers


async def test_a_cell_that_is_killed_fails_its_own_questions_only_and_finishes_them_after_a_restart(
    cells: Cells,
) -> None:
    answers = {key: Answers() for key in KEYS}
    stop = asyncio.Event()
    async with httpx.AsyncClient(base_url=cells.url, trust_env=False, timeout=limit(30)) as client:
        for key in KEYS:
            await ask(client, key, answers[key])
        places = {key: await cell_of(key, answers[key], [cells.first, cells.second]) for key in KEYS}
        killed = [key for key in KEYS if places[key] is cells.second]
        left = [key for key in KEYS if places[key] is cells.first]
        assert killed
        assert left

        async with asyncio.timeout(limit(DEADLINE)), asyncio.TaskGroup() as group:
            for key in KEYS:
                group.create_task(load(client, key, answers[key], stop))
            await until(lambda: all(len(answers[key].ended) > 1 for key in KEYS), patience=DEADLINE)
            kill(cells.second)
            before = {key: len(answers[key].ended) for key in left}
            await until(lambda: all(len(answers[key].ended) > before[key] + 2 for key in left), patience=DEADLINE)
            await until(lambda: all(answers[key].refused for key in killed), patience=DEADLINE)
            stop.set()

        for key in left:
            assert answers[key].ended == answers[key].accepted
            assert not answers[key].refused
        for reply in (answers[key].refused[-1] for key in killed):
            assert reply.status_code == 503
            assert reply.headers["content-type"] == "application/problem+json"
            assert reply.json()["detail"].startswith("The part of the platform that has your questions")
            assert int(reply.headers["retry-after"]) > 0

        with running(cells.second.data, "--compact", port=cells.second.port) as again:
            await again.ready()
            for key in killed:
                for question in answers[key].accepted:
                    assert await ends(client, key, question), "what was accepted before the death is finished"
                fresh = Answers()
                await ask(client, key, fresh)
                assert len(fresh.ended) == 1
