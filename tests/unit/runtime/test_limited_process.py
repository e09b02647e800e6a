"""Functions in child processes with limits: results, errors, time, memory, crashes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from shared.contracts.errors import DocumentError, UnavailableError
from shared.runtime.limited_process import LimitedProcess, LimitExceededError

ROOT = Path(__file__).resolve().parents[3]
MODULE = "tests.support.limited_functions"


@pytest_asyncio.fixture
async def limited() -> AsyncIterator[LimitedProcess]:
    process = LimitedProcess(MODULE, workers=2, seconds=1, memory_bytes=100 * 2**20)
    yield process
    await process.close()


async def test_a_call_returns_what_the_function_returns_and_the_child_stays(limited: LimitedProcess) -> None:
    assert await limited.call("double", "ab") == "abab"
    assert await limited.call("pid", None) == await limited.call("pid", None) != os.getpid()


async def test_a_message_larger_than_a_pipe_crosses_whole_and_is_finished_off_the_event_loop(
    limited: LimitedProcess,
) -> None:
    loop_thread = threading.get_ident()

    def finish(result: str) -> tuple[int, bool]:
        return len(result), threading.get_ident() != loop_thread

    assert await limited.call("double", "ab" * 2**20, finish=finish) == (2**22, True)
    with pytest.raises(DocumentError, match="hand in a text"):  # of an error there is nothing to finish
        await limited.call("refuse", "hand in a text", finish=finish)


async def test_an_error_of_the_function_is_raised_as_it_was(limited: LimitedProcess) -> None:
    with pytest.raises(DocumentError, match="hand in a text"):
        await limited.call("refuse", "hand in a text")
    with pytest.raises(OSError, match="a person wrote"):
        await limited.call("something else", None)

    assert await limited.call("double", 2) == 4


async def test_a_call_that_takes_too_long_is_ended_and_others_go_on(limited: LimitedProcess) -> None:
    await asyncio.gather(*(limited.call("double", n) for n in range(2)))  # both children have started
    slow = asyncio.create_task(limited.call("loop", 0))
    quick = [await limited.call("double", n) for n in range(5)]
    others_were_first = not slow.done()

    with pytest.raises(LimitExceededError, match="longer than 1 s"):
        await slow
    assert quick == [0, 2, 4, 6, 8]
    assert others_were_first
    assert await limited.call("double", 3) == 6


async def test_a_call_that_needs_too_much_memory_is_refused(limited: LimitedProcess) -> None:
    assert await limited.call("allocate", 50 * 2**20) == 50 * 2**20
    with pytest.raises(LimitExceededError, match="more than 100 MB"):
        await limited.call("allocate", 400 * 2**20)

    assert await limited.call("double", 1) == 2


async def test_a_call_that_ends_its_process_is_an_error_of_that_call_only(limited: LimitedProcess) -> None:
    with pytest.raises(LimitExceededError, match="exit code 3"):
        await limited.call("exit", 3)
    with pytest.raises(LimitExceededError, match="nested too deeply"):
        await limited.call("nest", None)

    assert await limited.call("double", 1) == 2


async def test_what_a_library_prints_is_no_reply(limited: LimitedProcess) -> None:
    assert await limited.call("print", None) == "printed"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no autogroups")
async def test_a_child_gives_way_and_its_session_too(
    limited: LimitedProcess,
) -> None:
    child = await limited.call("pid", None)

    assert os.getpriority(os.PRIO_PROCESS, child) >= 10
    assert os.sched_getscheduler(child) == os.SCHED_BATCH
    assert os.getsid(child) != os.getsid(0)
    assert _niceness_of_session(child) in ("nice 5", "")


async def test_a_call_that_is_ended_leaves_the_loaded_libraries_for_the_next(limited: LimitedProcess) -> None:
    loaded = await limited.call("parent", None)
    with pytest.raises(LimitExceededError, match="takes longer"):
        await limited.call("loop", 0)

    assert await limited.call("parent", None) == loaded


async def test_a_child_that_is_killed_between_two_calls_never_gives_a_call_the_result_of_another(
    limited: LimitedProcess,
) -> None:
    os.kill(await limited.call("pid", None), signal.SIGKILL)
    results = []
    for number in range(4):
        with contextlib.suppress(LimitExceededError, UnavailableError):
            results.append((number, await limited.call("double", number)))

    assert results
    assert all(result == 2 * number for number, result in results)


def _niceness_of_session(pid: int) -> str:
    """Empty where sessions have none."""
    group = Path(f"/proc/{pid}/autogroup")
    return " ".join(group.read_text().split()[-2:]) if group.exists() else ""


def test_children_end_with_a_parent_that_is_killed() -> None:
    program = (
        "import asyncio, os\n"
        "from shared.runtime.limited_process import LimitedProcess\n"
        "async def main():\n"
        f"    limited = LimitedProcess({MODULE!r}, workers=1, seconds=60, memory_bytes=10**8)\n"
        "    print(await limited.call('pid', None), flush=True)\n"
        "    await limited.call('loop', 0)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()

    until = time.monotonic() + 10
    while _is_running(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _is_running(child)


def _is_running(pid: int) -> bool:
    """Whether there is such a process that is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
