"""Containers are for machines whose Docker engine has an image; elsewhere tests go on without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.container_servers import IMAGES, image_of
from tests.support.server_report import ServerReport
from tests.support.servers import WAYS, missing


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What is known about the engine here is forgotten before and after."""
    image_of.cache_clear()
    yield
    image_of.cache_clear()


@pytest.mark.usefixtures("forgetful")
def test_without_an_engine_no_server_has_an_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")

    assert {name: image_of(name) for name in IMAGES} == dict.fromkeys(IMAGES)


def test_the_report_adds_what_the_processes_counted() -> None:
    class Node:
        workeroutput = {"servers": {"redis: local server": 2}}

    report = ServerReport()
    report.pytest_testnodedown(Node())
    report.pytest_testnodedown(Node())

    assert report.ways == {"redis: local server": 4}


def test_a_server_that_cannot_be_had_is_skipped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSWERBUS_REQUIRE", raising=False)
    way = "no such store: skipped, it is made up"
    try:
        with pytest.raises(pytest.skip.Exception, match="no such store: it is made up"):
            missing("no such store", "it is made up")
        assert WAYS[way] == 1
    finally:
        del WAYS[way]
