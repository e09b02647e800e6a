"""A data directory belongs to one platform at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.host.data_dir import DataDir, Running
from shared.contracts.errors import ConfigurationError


def test_directory_is_made_when_it_is_held(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    with DataDir(folder) as data:
        data.hold("up")

        assert folder.is_dir()


def test_directory_is_refused_to_a_second_holder(tmp_path: Path) -> None:
    with DataDir(tmp_path) as first, DataDir(tmp_path) as second:
        first.hold("up")

        with pytest.raises(ConfigurationError, match=rf"process {os.getpid()}, up"):
            second.hold("up")


def test_directory_tells_where_its_holder_listens(tmp_path: Path) -> None:
    announced = Running(os.getpid(), "up", "http://127.0.0.1:8080", "nats://127.0.0.1:4222")
    with DataDir(tmp_path) as data:
        data.hold("up")
        data.announce(announced)

        assert DataDir(tmp_path).running() == announced


def test_directory_is_free_again_when_it_was_released(tmp_path: Path) -> None:
    with DataDir(tmp_path) as first:
        first.hold("up")

    with DataDir(tmp_path) as second:
        second.hold("up")
    assert DataDir(tmp_path).running() is None


def test_directory_is_free_when_its_holder_died_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "answerbus.lock").write_text('{"pid": 1, "command": "up", "url": "http://127.0.0.1:8080"}')

    assert DataDir(tmp_path).running() is None


def test_directory_that_was_never_used_has_no_holder(tmp_path: Path) -> None:
    assert DataDir(tmp_path / "nowhere").running() is None


def test_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="data directory"):
        DataDir(tmp_path / "file").hold("up")
