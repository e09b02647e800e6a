"""A key is changed while its worker runs: both keys are valid until the change is finished, then only the new one."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from pydantic import SecretStr

from cli.host.catalogue import stages
from cli.host.seeds import USERS_FILE
from cli.operations.credentials import issue
from shared.bus.connection import EXIT_CONNECTION_CLOSED
from shared.bus.credentials import connect_options, read_credentials
from shared.contracts.errors import ConfigurationError
from shared.runtime.permissions import users
from shared.runtime.settings import Settings
from tests.support.servers import Server, nats_server
from tests.support.speed import limit

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
DECLARED = stages()
WORKER = """
import asyncio
from shared.bus import Connection
from shared.runtime.permissions import users
from shared.runtime.settings import Settings

async def work():
    await Connection(Settings(), "test").open()
    print("open", flush=True)
    await asyncio.sleep(120)

asyncio.run(work())
"""


@dataclass
class Mounted:
    """The server as the compose file runs it: its own configuration, and the folder of users mounted beside it."""

    server: Server
    issued: Path

    def reload(self) -> None:
        assert self.server.process
        self.server.process.send_signal(signal.SIGHUP)

    async def accepts(self, seed: Path) -> bool:
        """Whether the server accepts a login with that seed."""
        settings = Settings(nats_url=self.server.url, nats_seed=SecretStr(str(seed)))
        options = connect_options(settings, read_credentials(settings, "gateway"))
        try:
            client = await nats.connect(
                self.server.url, allow_reconnect=False, max_reconnect_attempts=0, error_cb=_ignore, **options
            )
        except (nats.errors.Error, OSError):
            return False
        await client.close()
        return True

    async def becomes(self, seed: Path, accepted: bool) -> None:
        """Wait until the server has applied a reload."""
        until = time.monotonic() + limit(20)
        while await self.accepts(seed) is not accepted:
            assert time.monotonic() < until, f"{seed.name} is never {'accepted' if accepted else 'refused'}"
            await asyncio.sleep(0.05)


async def _ignore(_: Exception) -> None:
    """Refused logins are meant here."""


@contextmanager
def mounted(folder: Path) -> Iterator[Mounted]:
    """`deploy/nats.conf` with the folder `server` of the credentials under the name that it has in the container."""
    issued = folder / "issued"
    issue(issued, DECLARED)
    container = folder / "container"
    container.mkdir()
    text = (ROOT / "deploy" / "nats.conf").read_text("utf-8")
    for line in ('listen: "0.0.0.0:4222"\n', 'http: "127.0.0.1:8222"\n'):
        assert line in text
        text = text.replace(line, "")
    (container / "nats.conf").write_text(text.replace('"/data"', f'"{folder / "data"}"'))
    (container / "credentials").symlink_to(issued / Path(USERS_FILE).parent)
    with nats_server(folder, config=container / "nats.conf", jetstream=False) as server:
        yield Mounted(server, issued)


async def worker(server: Server, seed: Path) -> asyncio.subprocess.Process:
    """A process that is connected with that seed."""
    variables = {**os.environ, "ANSWERBUS_NATS_URL": server.url, "ANSWERBUS_NATS_SEED": str(seed)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, env=variables, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    assert await asyncio.wait_for(process.stdout.readline(), 60) == b"open\n"
    return process


async def test_a_rotation_has_no_gap_and_ends_with_the_old_key_refused(tmp_path: Path) -> None:
    with mounted(tmp_path) as nats_mounted:
        seed = nats_mounted.issued / "gateway.nk"
        old = Path(shutil.copy(seed, tmp_path / "old.nk"))
        first = await worker(nats_mounted.server, old)

        rotated = issue(nats_mounted.issued, DECLARED, rotate=["gateway"])
        assert [one.action for one in rotated] == ["rotated", *["kept"] * (len(rotated) - 1)]
        nats_mounted.reload()
        await nats_mounted.becomes(seed, accepted=True)
        assert await nats_mounted.accepts(old)
        assert first.returncode is None
        second = await worker(nats_mounted.server, seed)

        issue(nats_mounted.issued, DECLARED, finish=True)
        nats_mounted.reload()
        assert await asyncio.wait_for(first.wait(), 30) == EXIT_CONNECTION_CLOSED
        assert not await nats_mounted.accepts(old)
        assert await nats_mounted.accepts(seed)
        assert second.returncode is None
        second.kill()
        await second.wait()


async def test_a_stolen_key_is_refused_at_once_when_a_rotation_is_finished_in_the_same_run(tmp_path: Path) -> None:
    with mounted(tmp_path) as nats_mounted:
        seed = nats_mounted.issued / "gateway.nk"
        old = Path(shutil.copy(seed, tmp_path / "old.nk"))

        issue(nats_mounted.issued, DECLARED, rotate=["gateway"], finish=True)
        nats_mounted.reload()

        await nats_mounted.becomes(old, accepted=False)
        assert await nats_mounted.accepts(seed)


def test_rotating_twice_keeps_both_old_keys_until_it_is_finished(tmp_path: Path) -> None:
    first = issue(tmp_path, DECLARED)[0].public_key
    second = issue(tmp_path, DECLARED, rotate=["gateway"])[0].public_key
    issued = issue(tmp_path, DECLARED, rotate=["gateway"])[0]
    assert issued.replaced == (first, second)
    assert all((tmp_path / USERS_FILE).read_text().count(key) == 1 for key in (first, second, issued.public_key))
    assert issue(tmp_path, DECLARED)[0].replaced == (first, second)

    finished = issue(tmp_path, DECLARED, finish=True)[0]

    assert (finished.public_key, finished.replaced) == (issued.public_key, ())
    assert not any(key in (tmp_path / USERS_FILE).read_text() for key in (first, second))


def test_the_servers_file_is_readable_for_its_user_and_holds_no_seed(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        issue(tmp_path / "issued", DECLARED, rotate=["answer"])
    finally:
        os.umask(before)
    users = tmp_path / "issued" / USERS_FILE

    assert users.stat().st_mode & 0o777 == 0o644
    assert users.parent.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in users.parent.iterdir()] == ["users.conf"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "issued").glob("*.nk")} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_rotated_seed_stays_readable_for_the_user_of_the_container(tmp_path: Path) -> None:
    issue(tmp_path, DECLARED, owner=10001)
    assert {path.stat().st_uid for path in tmp_path.glob("*.nk")} == {10001}

    issue(tmp_path, DECLARED, rotate=["answer"])

    seed = (tmp_path / "answer.nk").stat()
    assert (seed.st_uid, seed.st_mode & 0o777) == (10001, 0o600)


def test_a_seed_that_cannot_be_given_to_its_owner_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue(tmp_path, DECLARED)
    before = {path.name: path.read_text() for path in tmp_path.glob("*.nk")}

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(ConfigurationError, match=r"\.nk cannot be given to user id 4242; run .* as root"):
        issue(tmp_path, DECLARED, rotate=list(users(DECLARED)), owner=4242)

    assert {path.name: path.read_text() for path in tmp_path.glob("*.nk")} == before
    assert not list(tmp_path.glob(".*.new"))
