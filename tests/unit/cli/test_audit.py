"""The check of dependencies: what has changed, what may not be used, what is known to be faulty."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def loaded() -> ModuleType:
    """`deploy` is no package."""
    spec = importlib.util.spec_from_file_location("audit", ROOT / "deploy" / "audit.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


audit: Any = loaded()


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-2-Clause", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", True),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("MIT AND GPL-2.0-only", False),
        ("LGPL-2.1", False),
        ("UNKNOWN", False),
        ("", False),
        ("Proprietary", False),
        ("BUSL-1.1", False),
        ("SSPL-1.0", False),
    ],
)
def test_a_licence_is_allowed_if_one_of_its_alternatives_is_in_all_parts(licence: str, allowed: bool) -> None:
    assert audit.is_allowed(licence) is allowed


def test_packages_for_other_systems_are_not_looked_at() -> None:
    lines = "one==1.0\ntwo==2.0 ; sys_platform == 'win32'\nthree==3.0 ; python_full_version < '3.14'\n-e ./clients\n"
    assert audit.exported(lines) == {"one": "1.0", "three": "3.0"}


def test_a_new_a_changed_and_a_missing_package_are_told() -> None:
    before = {"kept": ("1", "MIT"), "raised": ("1", "MIT"), "gone": ("1", "MIT"), "relicensed": ("1", "MIT")}
    now = {"kept": ("1", "MIT"), "raised": ("2", "MIT"), "new": ("1", "ISC"), "relicensed": ("1", "BUSL-1.1")}
    assert audit.differences(now, before) == [
        "new: new, 1 ISC",
        "gone: gone",
        "raised: 1 MIT -> 2 MIT",
        "relicensed: 1 MIT -> 1 BUSL-1.1",
    ]


@pytest.mark.parametrize(
    ("name", "version", "faulty"),
    [
        ("h11", "0.14.0", True),
        ("h11", "0.16.0", False),
        ("starlette", "0.49.0", True),
        ("starlette", "1.10.0", False),
        ("langchain-core", "1.2.4", True),
        ("langchain-core", "1.2.5", False),
        ("langchain-core", "0.3.80", True),
        ("jinja2", "3.1.5", True),
        ("urllib3", "2.5.0", True),
        ("nobody-knows", "0.0.1", False),
    ],
)
def test_a_version_with_a_known_fault_is_told_with_what_to_install(name: str, version: str, faulty: bool) -> None:
    found = audit.faults({name: version})
    assert bool(found) is faulty
    assert all(name in line and "install a version that is not" in line for line in found)


def test_a_changed_dependency_fails_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("left-pad==1.0\n"))
    with pytest.raises(SystemExit) as ended:
        audit.main([])
    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert "changed: left-pad: new, 1.0 UNKNOWN" in told
    assert "licence not allowed: left-pad" in told
    assert "make audit AUDIT=--write, and commit deploy/packages.tsv" in told
