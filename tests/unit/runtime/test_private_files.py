"""Other users of the machine read nothing of a platform, whatever made its files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.host.data_dir import DataDir
from shared.runtime.private_files import close_to_others, make_files_private

#: Paths below a data directory with a mode as earlier versions, copies and restored backups left them.
OPEN = [
    ("answerbus.lock", 0o644),
    ("nats/nats.log", 0o666),
    ("nats/store/jetstream/$G/streams/QA/msgs/1.blk", 0o640),
    ("record/record.db", 0o644),
    ("record/record.db-wal", 0o604),
    ("retrieval/graph.db-wal", 0o660),
    ("retrieval/edge/wal/open-1", 0o664),
    ("retrieval/edge/payload_storage/page_0.dat", 0o777),
    ("retrieval/tenants/acme/votes.db", 0o602),
    ("retrieval/tenants/a name with spaces/é.db", 0o610),
    ("retrieval/.hidden", 0o444),
    ("retrieval/edge/segments/tool", 0o755),
]


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def make(path: Path, wanted: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("zebrafish")
    path.chmod(wanted)
    return path


@pytest.mark.parametrize(("name", "open_mode"), OPEN)
def test_a_file_that_others_could_read_or_write_is_closed_to_them_and_named(
    tmp_path: Path, usual_umask: None, name: str, open_mode: int
) -> None:
    data = tmp_path / "data"
    path = make(data / name, open_mode)

    assert close_to_others(data) == [data]

    assert mode(path) == open_mode & 0o700
    assert {mode(folder) for folder in (data, *data.rglob("*")) if folder.is_dir()} == {0o700}
    assert close_to_others(data) == []


def test_what_was_private_is_not_named(tmp_path: Path, usual_umask: None) -> None:
    data = tmp_path / "data"
    make(data / "record" / "record.db", 0o644)
    make(data / "nats" / "nats.conf", 0o600)
    for folder in (data, data / "nats"):
        folder.chmod(0o700)

    assert close_to_others(data) == [data / "record"]


def test_a_directory_that_holds_other_things_too_keeps_its_mode_and_they_keep_theirs(
    tmp_path: Path, usual_umask: None
) -> None:
    script = make(tmp_path / "run.sh", 0o755)
    record = make(tmp_path / "record" / "record.db", 0o644)
    tmp_path.chmod(0o755)

    assert close_to_others(tmp_path) == [tmp_path / "record"]

    assert (mode(tmp_path), mode(script), mode(record)) == (0o755, 0o755, 0o600)


def test_links_are_not_followed(tmp_path: Path, usual_umask: None) -> None:
    elsewhere = make(tmp_path / "elsewhere" / "file", 0o644)
    (tmp_path / "data" / "retrieval").mkdir(parents=True)
    (tmp_path / "data" / "retrieval" / "file").symlink_to(elsewhere)
    (tmp_path / "data" / "retrieval" / "folder").symlink_to(elsewhere.parent)
    (tmp_path / "data" / "retrieval" / "nothing").symlink_to(tmp_path / "nothing")

    close_to_others(tmp_path / "data")

    assert (mode(elsewhere), mode(elsewhere.parent)) == (0o644, 0o755)


def test_a_directory_that_does_not_exist_has_nothing_open(tmp_path: Path) -> None:
    assert close_to_others(tmp_path / "nowhere") == []


def test_holding_a_directory_closes_it_and_warns_with_its_name(
    tmp_path: Path, usual_umask: None, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    make(data / "record" / "record.db", 0o644)
    data.chmod(0o755)
    make_files_private()

    with DataDir(data) as held:
        held.hold("up")

    assert mode(data / "record" / "record.db") == 0o600
    assert capsys.readouterr().err == f"warning: other users of this machine could read {data}; now only you can\n"
    with DataDir(data) as held:
        held.hold("up")
    assert capsys.readouterr().err == ""


def test_what_a_process_makes_after_the_call_is_private(tmp_path: Path, usual_umask: None) -> None:
    make_files_private()
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    os.close(os.open(tmp_path / "opened", os.O_CREAT, 0o666))
    subprocess.run([sys.executable, "-c", "open('of-a-child', 'w')"], cwd=tmp_path, check=True)

    assert {path.name: mode(path) for path in tmp_path.iterdir()} == {
        "folder": 0o700,
        "file": 0o600,
        "opened": 0o600,
        "of-a-child": 0o600,
    }
