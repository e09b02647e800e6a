"""A generator of Python clients takes the OpenAPI document; that for TypeScript is tested with the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.servers import missing
from tests.support.typescript import ROOT

#: The version that is known to take the document; installed on its own, as it needs other libraries than the platform.
GENERATOR = "openapi-python-client==0.29.1"


def test_generator_of_python_clients_takes_the_openapi_document(tmp_path: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    if not uv.is_file():
        missing("uv", "there is no uv beside Python")
    tool = [str(uv), "tool", "run", "--from", GENERATOR, "--with", "ruff", "openapi-python-client"]
    if subprocess.run([*tool, "--version"], capture_output=True, check=False).returncode:
        missing("uv", f"{GENERATOR} cannot be installed")

    options = ["--path", str(ROOT / "docs" / "openapi.json"), "--output-path", str(tmp_path / "made"), "--meta", "none"]
    done = subprocess.run(
        [*tool, "generate", "--fail-on-warning", *options], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "made" / "models" / "question_state.py").is_file()
    assert (tmp_path / "made" / "api" / "questions" / "questions_ask.py").is_file()
