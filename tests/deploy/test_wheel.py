"""The package as `uv tool install` has it: built, installed where there is no repository, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.speed import limit

ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
#: Megabytes of an environment with the package and what it needs, 96 of them models of languages.
LARGEST = 340


def _run(*command: str, folder: Path, seconds: float = 300) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSWERBUS_", "PYTHON"))}
    environment.pop("VIRTUAL_ENV", None)
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit(seconds), check=False
    )
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside of the repository, with the environment `env` in it."""
    folder = tmp_path_factory.mktemp("elsewhere")
    _run(UV, "build", "--quiet", "--wheel", "--all-packages", "--out-dir", str(folder), folder=ROOT)
    _run(UV, "venv", "--quiet", "--python", sys.executable, "env", folder=folder)
    _install(folder, "answerbus", "answerbus_client")
    return folder


def _install(folder: Path, *packages: str) -> None:
    """Install wheels of ours, built beside the environment, with what they need from the package index."""
    wheels = [str(next(folder.glob(f"{package}-*.whl"))) for package in packages]
    _run(UV, "pip", "install", "--quiet", "--python", "env/bin/python", *wheels, folder=folder, seconds=600)


def test_installed_package_is_not_larger_than_it_was(installed: Path) -> None:
    size = int(_run("du", "-sm", "env", folder=installed).split()[0])

    print(f"the environment of the package: {size} MB")
    assert size <= LARGEST


def test_installed_package_tells_its_version_and_shows_its_demo(installed: Path) -> None:
    assert _run("env/bin/answerbus", "--version", folder=installed).startswith("answerbus 0.")

    shown = _run("env/bin/answerbus", "demo", folder=installed)

    assert shown.count("\n  [1] ") == 5, shown  # the sixth question is answered by no document
    assert "stopped cleanly" in shown


def test_the_core_alone_has_no_command_of_the_lab_which_adds_them_when_it_is_installed(installed: Path) -> None:
    """Last in this file: it changes the environment."""
    assert not re.search(r"^  evaluate ", _run("env/bin/answerbus", "--help", folder=installed), re.MULTILINE)

    _install(installed, "answerbus_lab")

    assert re.search(r"^  evaluate ", _run("env/bin/answerbus", "--help", folder=installed), re.MULTILINE)
    assert "BEIR" in _run("env/bin/answerbus", "evaluate", "retrieval", "--help", folder=installed)
