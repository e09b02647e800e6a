"""The documentation that is asked about: this project's own, and that of packages, fetched from the package index.

Nothing of the packages is part of this project; their licences (BSD-3-Clause, MIT) allow to read and to quote them.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
#: Where fetched documentation is kept between runs.
KEPT = Path.home() / ".cache" / "answerbus" / "documentation"


@dataclass(frozen=True)
class PackageDocs:
    """The folder of a source package that holds its documentation, and the endings of its pages."""

    name: str
    version: str
    sha256: str
    folder: str
    endings: tuple[str, ...]


PACKAGES = {
    "flask": PackageDocs(
        "flask", "3.1.2", "bf656c15c80190ed628ad08cdfd3aaa35beb087855e2f494910aa3774cc4fd87", "docs", (".rst",)
    ),
    "attrs": PackageDocs(
        "attrs", "25.3.0", "75d7cefc7fb576747b2c81b4442d4d4a1ce0900973527c011d1030fd3bf4af1b", "docs", (".md", ".rst")
    ),
    "mako": PackageDocs(
        "mako", "1.3.10", "99579a6f39583fa7e5630a28c3c1f440e4e97a414b80372649c0ce338da2ea28", "doc", (".html",)
    ),
}


def documentation(kept: Path = KEPT) -> dict[str, list[Path]]:
    """The folders and files of every set, by its name; those of packages are fetched once, into `kept`.

    Raises:
        RuntimeError: a package cannot be fetched, or is not the one that the questions were written for.
    """
    sets = {name: [_fetched(package, kept)] for name, package in PACKAGES.items()}
    return {"own": [ROOT / "docs", ROOT / "README.md"], **sets}


def _fetched(package: PackageDocs, kept: Path) -> Path:
    folder = kept / f"{package.name}-{package.version}"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as temporary:
            archive = _download(package, Path(temporary))
            unpacked = Path(temporary) / "docs"
            _unpack(archive, package, unpacked)
            kept.mkdir(parents=True, exist_ok=True)
            shutil.move(unpacked, folder)
    return folder


def _download(package: PackageDocs, into: Path) -> Path:
    """The source package, by pip; pip asks its build tool for its metadata, which takes a few seconds."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", package.name, "--dest", str(into), f"{package.name}=={package.version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = list(into.glob("*.tar.gz"))
    if done.returncode or len(archives) != 1:
        raise RuntimeError(f"{package.name} {package.version} could not be fetched: {done.stderr.strip()[-500:]}")
    digest = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if digest != package.sha256:
        raise RuntimeError(f"{package.name} {package.version} is another file than expected: sha256 {digest}")
    return archives[0]


def _unpack(archive: Path, package: PackageDocs, into: Path) -> None:
    """Write the pages below the folder of the documentation, and nothing else of the archive."""
    with tarfile.open(archive) as source:
        for member in source:
            path = PurePosixPath(member.name)
            if not member.isfile() or path.parts[1:2] != (package.folder,) or path.suffix not in package.endings:
                continue
            if ".." in path.parts:
                continue
            file = source.extractfile(member)
            target = into.joinpath(*path.parts[2:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read() if file else b"")
