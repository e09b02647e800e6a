"""What another user of the machine sees of a platform: no file of it, and no key in the list of processes."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.host.seeds import seeds_of
from shared.runtime.private_files import ENTRIES
from tests.support.platform import Platform, cli, running_with_keys

pytestmark = pytest.mark.e2e

CLIENT, OPERATOR = secrets.token_urlsafe(24), secrets.token_urlsafe(24)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that was started by somebody whose files others may read, on a directory with an open folder."""
    root = tmp_path_factory.mktemp("private")
    before = os.umask(0o022)
    try:
        (root / "data" / "retrieval").mkdir(parents=True)
        with running_with_keys(root, client=CLIENT, operator=OPERATOR, deadline_seconds=60) as up:
            asked = cli("ask", "What does a library card cost?", "--url", up.url, env={"ANSWERBUS_API_KEY": CLIENT})
            assert asked.returncode == 0, asked.stderr
            yield up
    finally:
        os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """What others have any right to, with its mode."""
    paths = (folder, *folder.rglob("*"))
    modes = {path: path.lstat().st_mode for path in paths if path.exists()}
    return [f"{oct(mode)} {path}" for path, mode in modes.items() if stat.S_IMODE(mode) & 0o077]


def test_every_file_below_the_data_directory_is_the_users_own(platform: Platform) -> None:
    assert open_to_others(platform.data) == []
    assert {path.name for path in platform.data.iterdir()} <= set(ENTRIES)


def test_a_directory_that_was_open_at_the_start_was_named(platform: Platform) -> None:
    assert f"other users of this machine could read {platform.data}" in platform.log.read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can ask as another user")
def test_another_user_cannot_read_a_document(platform: Platform) -> None:
    assert b"rain tanks" in b"".join(path.read_bytes() for path in platform.data.rglob("*") if path.is_file())
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os._exit(os.access(platform.data / "retrieval", os.R_OK) or os.access(platform.data / "record", os.X_OK))
    assert os.waitpid(child, 0)[1] == 0


def test_a_backup_and_what_is_restored_from_it_are_the_users_own(platform: Platform, tmp_path: Path) -> None:
    kept, data = tmp_path / "backup", tmp_path / "restored"
    assert cli("backup", str(kept), "--data", str(platform.data)).returncode == 0
    restored = cli("restore", str(kept), "--data", str(data))
    assert restored.returncode == 0, restored.stderr

    assert (data / "record" / "record.db").is_file()
    assert open_to_others(kept) == open_to_others(data) == []


def test_no_process_shows_a_key_or_a_seed_in_its_command_line(platform: Platform) -> None:
    seeds = [path.read_text().split()[-1] for path in seeds_of(platform.data).glob("*.nk")]
    lines = [
        (Path("/proc") / str(pid) / "cmdline").read_bytes().decode()
        for pid in (platform.process.pid, *platform.processes())
    ]
    assert len(seeds) > 7
    assert len(lines) > 7
    assert not [line for line in lines for secret in (CLIENT, OPERATOR, *seeds) if secret in line]
