"""The TypeScript client, built in a folder of its own, and programs that use it in Node."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.servers import missing
from tests.support.speed import limit

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "clients" / "typescript"
PROGRAMS = ROOT / "tests" / "pipeline" / "node"


@dataclass(frozen=True)
class Package:
    """The built package with its development tools in `folder`."""

    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder."""
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=limit(240), check=False)

    async def node(self, program: str, **environment: str) -> Any:
        """What a program of `PROGRAMS` prints, as JSON; it imports the package as `./dist/index.js`."""
        shutil.copy(PROGRAMS / program, self.folder)
        done = await asyncio.to_thread(
            subprocess.run,
            ["node", program],
            cwd=self.folder,
            env=os.environ | environment,
            capture_output=True,
            timeout=limit(90),
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)


def build(folder: Path) -> Package:
    """The package, built as its README says; the test is skipped where there is no Node or its tools cannot be had."""
    if not (shutil.which("node") and shutil.which("npm")):
        missing("node", "there is no node or no npm")
    for name in ("package.json", "package-lock.json", "tsconfig.json"):
        shutil.copy(SOURCE / name, folder)
    shutil.copytree(SOURCE / "src", folder / "src")
    package = Package(folder)
    installed = package.run("npm", "ci", "--no-fund", "--no-audit", "--ignore-scripts")
    if installed.returncode:
        missing("npm registry", f"npm cannot install what the package is built with: {installed.stderr[-300:]}")
    built = package.run("npx", "tsc")
    assert built.returncode == 0, built.stdout
    return package
