"""The folder of a batch run, from which an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.json_lines import kept_lines
from shared.contracts.errors import RefusedError

MANIFEST, ANSWERS = "run.json", "answers.jsonl"


@dataclass(frozen=True)
class EvaluatedPipeline:
    """A pipeline of the run with its revision at the start of the run."""

    name: str
    revision: int

    @property
    def label(self) -> str:
        return f"{self.name}@{self.revision}"


@dataclass
class BatchStore:
    """Answers by pipeline and line of the questions file; each is on disk when `put` returns."""

    folder: Path
    run_id: str
    rows: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, file: Path, pipelines: list[EvaluatedPipeline]) -> BatchStore:
        """Open the folder of a run, new or interrupted.

        Raises:
            RefusedError: the folder belongs to another run, or cannot be written.
        """
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        manifest = {
            "file": file.name,
            "sha256": digest,
            "pipelines": {pipeline.name: pipeline.revision for pipeline in pipelines},
        }
        path = folder / MANIFEST
        try:
            if path.exists():
                _same(folder, json.loads(path.read_text("utf-8")), manifest)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
            run_id = hashlib.sha256(f"{folder.resolve()} {json.dumps(manifest)}".encode()).hexdigest()[:12]
            store = cls(folder, run_id)
            store._load()
        except OSError as error:
            raise RefusedError(f"{folder}: {error.strerror}") from None
        except ValueError:
            raise RefusedError(f"{folder}: {MANIFEST} does not describe a run; choose another --out") from None
        return store

    def get(self, pipeline: EvaluatedPipeline, line: int) -> dict[str, Any] | None:
        return self.rows.get((pipeline.name, line))

    def put(self, pipeline: EvaluatedPipeline, line: int, **values: Any) -> None:
        """Add values to the row of a question."""
        row = {"pipeline": pipeline.name, "line": line, **values}
        with (self.folder / ANSWERS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._merge(row)

    def of(self, pipeline: EvaluatedPipeline) -> dict[int, dict[str, Any]]:
        """The rows of one pipeline by line."""
        return {line: row for (name, line), row in sorted(self.rows.items()) if name == pipeline.name}

    def _load(self) -> None:
        """Read the stored rows; an incomplete last line is dropped, so its question is asked again."""
        for line in kept_lines(self.folder / ANSWERS):
            self._merge(json.loads(line))

    def _merge(self, row: Mapping[str, Any]) -> None:
        self.rows.setdefault((str(row["pipeline"]), int(row["line"])), {}).update(row)


def _same(folder: Path, before: Any, now: Mapping[str, Any]) -> None:
    """Refuse to mix two runs.

    Raises:
        ValueError: the file is not a manifest.
        RefusedError: it is the manifest of another run.
    """
    if not isinstance(before, dict) or not isinstance(before.get("pipelines"), dict):
        raise ValueError
    if before.get("sha256") != now["sha256"]:
        raise RefusedError(f"{folder}: holds a run of another file ({before.get('file')}); choose another --out")
    if before.get("pipelines") != now["pipelines"]:
        others = ", ".join(f"{name}@{revision}" for name, revision in before["pipelines"].items())
        raise RefusedError(f"{folder}: holds a run of {others}; choose another --out")
