"""What a search proposes: a change of the pipeline as a diff, with the scores on both parts."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.ranking_metrics import interval
from answerbus_lab.tuning.trials import Trial
from answerbus_lab.tuning.tuner import Tuner


@dataclass(frozen=True)
class Proposal:
    """The outcome of a search over `document`, the pipeline's own as `GET /api/v1/pipelines/{name}` gives it."""

    pipeline: str
    document: dict[str, Any]
    tuner: Tuner

    @property
    def changes(self) -> dict[str, Any]:
        """The settings of the best trial that are not what the pipeline has; empty: nothing was better."""
        best = self.tuner.best
        values = best.settings if best else {}
        return {name: value for name, value in values.items() if self.tuner.current.get(name) != value}

    @property
    def supported(self) -> bool:
        """Whether the held-out part was asked, and is not worse with the change."""
        pair = self.tuner.held_out
        return bool(self.changes) and pair is not None and pair[1].mean >= pair[0].mean

    @property
    def says(self) -> str:
        """One sentence."""
        if not self.changes:
            return "nothing was better than the pipeline as it is"
        if self.tuner.held_out is None:
            return "better on the searched cases; the held-out ones were not asked"
        if not self.supported:
            return "better on the searched cases, worse on the held-out ones: not proposed"
        return "better on the searched cases, and not worse on the held-out ones"

    def as_json(self) -> dict[str, Any]:
        """Settings before and after, the evidence of both parts, every trial, cost."""
        base, best, held_out = self.tuner.base, self.tuner.best, self.tuner.held_out
        return {
            "pipeline": self.pipeline,
            "says": self.says,
            "proposed": self.supported,
            "changes": {
                name: {"before": self.tuner.current.get(name), "after": value} for name, value in self.changes.items()
            },
            "searched": _evidence(base, best),
            "held_out": _evidence(*held_out) if held_out else None,
            "trials": [
                {"settings": trial.settings, "score": round(trial.mean, 4), "invalid": trial.invalid}
                for trial in self.tuner.store.trials
            ],
            "ended": self.tuner.ended,
            "cost_usd": round(self.tuner.asker.spent, 6),
        }

    def diff(self) -> str:
        """The change of the pipeline's document as a unified diff; empty without a change."""
        before, after = (_yaml(values).splitlines(keepends=True) for values in (self.document, self.changed()))
        return "".join(difflib.unified_diff(before, after, f"{self.pipeline}", f"{self.pipeline}, proposed"))

    def changed(self) -> dict[str, Any]:
        """The document with the change."""
        document = copy.deepcopy(self.document)
        for name, value in self.changes.items():
            *path, key = name.split(".")
            inner = document
            for part in path:
                inner = inner.setdefault(part, {})
            inner[key] = value
        return document

    def write(self, folder: Path) -> None:
        """Write `report.json`, and for a change `proposal.diff` and `proposed/pipeline.yaml`."""
        text = json.dumps(self.as_json(), ensure_ascii=False, indent=2)
        (folder / "report.json").write_text(text + "\n", "utf-8")
        if self.changes:
            (folder / "proposal.diff").write_text(self.diff(), "utf-8")
            (folder / "proposed").mkdir(exist_ok=True)
            (folder / "proposed" / "pipeline.yaml").write_text(_yaml(self.changed()), "utf-8")


def current_values(shown: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The values by name in a document, where it has them; else the defaults `names` has."""
    found = {}
    for name, default in names.items():
        inner: Any = shown
        for part in name.split("."):
            inner = inner.get(part) if isinstance(inner, Mapping) else None
        found[name] = default if inner is None else inner
    return found


def _evidence(before: Trial | None, after: Trial | None) -> dict[str, Any] | None:
    if before is None or not before.scores:
        return None
    evidence: dict[str, Any] = {"cases": len(before.scores), "before": _told(before)}
    if after is not None and after.scores:
        gains = [after.scores[name].score - score.score for name, score in before.scores.items()]
        low, high = interval(gains)
        evidence |= {
            "after": _told(after),
            "difference": round(sum(gains) / len(gains), 4),
            "low": round(low, 4),
            "high": round(high, 4),
        }
    return evidence


def _told(trial: Trial) -> dict[str, Any]:
    return {
        "score": round(trial.mean, 4),
        "passed": trial.passed,
        "mean_ms": round(trial.mean_ms, 1),
        "cost_usd": round(trial.cost_usd, 6),
    }


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=100))
