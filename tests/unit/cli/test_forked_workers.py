"""Workers that are forked from a process that has imported every stage."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.host.fork_server import ROOT, end_fork_server
from cli.host.forked_workers import UNKNOWN, ForkedWorker, ForkedWorkers
from cli.host.seeds import USERS_FILE, seeds_of
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.runtime.worker import CANNOT_RUN
from tests.support.servers import free_port
from tests.support.speed import limit


@asynccontextmanager
async def forks() -> AsyncIterator[ForkedWorkers]:
    running = ForkedWorkers()
    try:
        yield running
    finally:
        await running.close()


def environment(folder: Path, **values: str) -> dict[str, str]:
    """Of a worker that looks for NATS where none is, until it is stopped."""
    nats = f"nats://127.0.0.1:{free_port()}"
    return {"PATH": os.environ["PATH"], "ANSWERBUS_NATS_URL": nats, "ANSWERBUS_DATA_DIR": str(folder), **values}


async def output_of(worker: ForkedWorker) -> str:
    return (await asyncio.wait_for(worker.stdout.read(), limit(30))).decode()


async def ended(worker: ForkedWorker) -> int:
    return await asyncio.wait_for(worker.wait(), limit(30))


async def test_a_worker_has_the_environment_of_its_request_and_its_output_and_exit_code_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBUS_RAW_TTL_SECONDS", "not a number either")
    async with forks() as running:
        wrong = await running.start("answer", environment(tmp_path, ANSWERBUS_PROBE_PORT="no number"))
        said = await output_of(wrong)
        assert await ended(wrong) == CANNOT_RUN
    assert "probe_port" in said.lower()
    assert "raw_ttl" not in said.lower()


async def test_workers_of_one_server_are_separate_processes_that_say_what_they_are(tmp_path: Path) -> None:
    async with forks() as running:
        workers = [await running.start(stage, environment(tmp_path)) for stage in ("answer", "verifier")]
        titles = [await _title(one.pid) for one in workers]
        sessions = {os.getsid(one.pid) for one in workers}
    assert [title.rpartition(" ")[2] for title in titles] == ["services.answer.app", "services.verifier.app"]
    assert sessions == {one.pid for one in workers}
    assert [one.returncode for one in workers] == [-signal.SIGKILL, -signal.SIGKILL]


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has this policy")
async def test_workers_wait_for_a_core_instead_of_taking_it_from_who_woke_them_unless_told_otherwise(
    tmp_path: Path,
) -> None:
    async with forks() as running:
        usual = await running.start("answer", environment(tmp_path))
        normal = await running.start("verifier", environment(tmp_path, ANSWERBUS_CPU_POLICY="normal"))
        until = time.monotonic() + limit(30)
        while os.sched_getscheduler(usual.pid) != os.SCHED_BATCH:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        await _title(normal.pid)
        assert os.sched_getscheduler(normal.pid) == os.SCHED_OTHER


async def test_a_worker_that_was_killed_is_told_from_one_that_was_stopped(tmp_path: Path) -> None:
    async with forks() as running:
        killed, stopped = [await running.start("answer", environment(tmp_path)) for _ in range(2)]
        await _title(stopped.pid)
        killed.kill()
        assert await ended(killed) == -signal.SIGKILL
        stopped.send_signal(signal.SIGTERM)
        assert await ended(stopped) in {0, -signal.SIGTERM}
        with pytest.raises(ProcessLookupError):
            killed.kill()


async def test_workers_go_on_when_their_server_is_killed_and_the_next_one_has_a_new_server(tmp_path: Path) -> None:
    async with forks() as running:
        workers = [await running.start(stage, environment(tmp_path)) for stage in ("answer", "verifier")]
        for worker in workers:
            await _title(worker.pid)
        server = _parent(workers[0].pid)
        os.kill(server, signal.SIGKILL)
        later = await running.start("answer", environment(tmp_path))
        await _title(later.pid)

        assert _parent(later.pid) not in {server, os.getpid()}
        assert [one.returncode for one in (*workers, later)] == [None, None, None]
        workers[0].send_signal(signal.SIGTERM)
        assert await ended(workers[0]) == UNKNOWN
        workers[1].kill()
        assert await ended(workers[1]) == UNKNOWN
        later.kill()
        assert await ended(later) == -signal.SIGKILL


@pytest.mark.parametrize("first", ["worker", "server"])
async def test_workers_end_when_their_supervisor_is_killed_with_their_server_or_without(
    tmp_path: Path, first: str
) -> None:
    program = (
        "import asyncio, os, signal, sys\n"
        "from cli.host.fork_server import end_fork_server\n"
        "from cli.host.forked_workers import ForkedWorkers\n"
        "async def main():\n"
        f"    worker = await ForkedWorkers().start('answer', {environment(tmp_path)!r})\n"
        f"    {'end_fork_server()' if first == 'server' else 'pass'}\n"
        "    print(worker.pid, flush=True)\n"
        "    await worker.wait()\n"
        "asyncio.run(main())\n"
    )
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=ROOT, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    assert supervisor.stdout is not None
    worker = int(await asyncio.wait_for(supervisor.stdout.readline(), limit(60)))
    await _title(worker)
    supervisor.kill()
    await supervisor.wait()

    until = time.monotonic() + limit(30)
    while _is_running(worker):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)


async def test_a_server_that_cannot_start_is_an_error_and_not_a_wait() -> None:
    end_fork_server()
    multiprocessing.set_executable("/bin/false")
    try:
        with pytest.raises(UnavailableError, match="the process that starts workers has ended"):
            await asyncio.wait_for(ForkedWorkers().start("answer", {}), limit(30))
    finally:
        multiprocessing.set_executable(sys.executable)


def _is_running(pid: int) -> bool:
    """Whether there is such a process that is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def _title(pid: int) -> str:
    """The command line that `ps` shows, once the fork has become a worker."""
    async with asyncio.timeout(limit(30)):
        while True:
            text = _command_line(pid)
            if "services." in text:
                return text
            await asyncio.sleep(0.01)


def _command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_a_job_that_fails_raises_its_error_here(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.write_text("a file where a folder should be")
    async with forks() as running:
        with pytest.raises(ConfigurationError, match="data"):
            await asyncio.wait_for(running.run_job("issue", environment(folder)), limit(60))


async def test_a_wrong_setting_is_named_by_the_job(tmp_path: Path) -> None:
    async with forks() as running:
        job = running.run_job("issue", environment(tmp_path, ANSWERBUS_PORT="no number"))
        with pytest.raises(ConfigurationError, match="port"):
            await asyncio.wait_for(job, limit(60))


async def test_a_job_writes_the_users_of_the_embedded_server(tmp_path: Path) -> None:
    async with forks() as running:
        assert await asyncio.wait_for(running.run_job("issue", environment(tmp_path)), limit(60)) == []

    assert "nkey" in (seeds_of(tmp_path) / USERS_FILE).read_text()
    assert (seeds_of(tmp_path) / "operator.nk").stat().st_mode & 0o777 == 0o600


async def test_a_job_that_ends_without_a_result_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with forks() as running:
        start = running.start

        async def killed(name: str, values: dict[str, str]) -> ForkedWorker:
            job = await start(name, values)
            job.kill()
            return job

        monkeypatch.setattr(running, "start", killed)
        with socket.create_server(("127.0.0.1", 0)) as silent:  # the job waits for a NATS that never answers
            values = environment(tmp_path, ANSWERBUS_NATS_URL=f"nats://127.0.0.1:{silent.getsockname()[1]}")
            with pytest.raises(UnavailableError, match="prepare ended without a result"):
                await asyncio.wait_for(running.run_job("prepare", values), limit(60))
