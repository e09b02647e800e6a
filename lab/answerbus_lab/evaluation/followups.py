"""`answerbus evaluate followups`: how well follow-ups are rewritten as standalone questions, by rule.

The references are manual rewrites as in TREC CAsT (Dalton, Xiong and Callan, 2020). Measured are BLEU (sacrebleu), the
BLEU of the unchanged questions for comparison, and how many of the questions that need no rewrite are left unchanged.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.json_lines import json_lines
from answerbus_lab.evaluation.stage_parts import question_reader
from shared.contracts.domain import Question, Turn
from shared.contracts.errors import ConfigurationError, RefusedError
from shared.contracts.pipelines import Pipeline
from shared.text.languages import code3

_RAW, _REWRITE = ("raw", "question"), ("rewrite", "standalone")


@dataclass(frozen=True)
class FollowupCase:
    """A question after its turns, its manual rewrite as a standalone question, and the passage that answers it."""

    group: str
    raw: str
    rewrite: str
    turns: tuple[Turn, ...]
    passage: str = ""

    @property
    def is_standalone(self) -> bool:
        return self.is_unchanged(self.rewrite)

    def is_unchanged(self, rewritten: str) -> bool:
        """Whether the rewritten question is the original one, except for white space."""
        return rewritten.split() == self.raw.split()


async def evaluate(path: Path, pipeline: Pipeline, *, language: str = "eng") -> dict[str, Any]:
    """Measures by group (the part of the `_id` before the first `_`), and over all questions.

    Raises:
        RefusedError: the file has no such questions.
        ConfigurationError: sacrebleu is not installed.
    """
    cases = read_cases(path)
    if not cases:
        raise RefusedError(f"{path}: no line has raw, rewrite and history")
    read = question_reader(pipeline)
    rewritten: list[str] = []
    took: list[float] = []
    for case in cases:
        began = time.perf_counter()
        rewritten.append(await read(Question(text=case.raw, language=code3(language), turns=case.turns)))
        took.append((time.perf_counter() - began) * 1e3)
    groups: dict[str, list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        groups[case.group].append(place)
    figures = {name: await asyncio.to_thread(_measured, cases, rewritten, places) for name, places in groups.items()}
    every = await asyncio.to_thread(_measured, cases, rewritten, range(len(cases)))
    took.sort()
    return {
        "metrics": {name: every[name] for name in ("bleu", "bleu_copied", "left_alone", "left_alone_after_turns")},
        "figures": {
            "questions": len(cases),
            "groups": figures,
            "rewrite_ms": {"p50": round(took[len(took) // 2], 3), "p99": round(took[int(0.99 * (len(took) - 1))], 3)},
        },
    }


def _measured(cases: Sequence[FollowupCase], rewritten: Sequence[str], places: Sequence[int]) -> dict[str, float]:
    references = [cases[place].rewrite for place in places]
    alone = [place for place in places if cases[place].is_standalone]
    after = [place for place in alone if cases[place].turns]
    changed = [place for place in places if not cases[place].is_unchanged(rewritten[place])]
    return {
        "questions": len(places),
        "bleu": _bleu([rewritten[place] for place in places], references),
        "bleu_copied": _bleu([cases[place].raw for place in places], references),
        "stand_by_themselves": len(alone),
        "left_alone": _share([cases[place].is_unchanged(rewritten[place]) for place in alone]),
        "after_turns": len(after),
        "left_alone_after_turns": _share([cases[place].is_unchanged(rewritten[place]) for place in after]),
        "changed": len(changed),
    }


def _share(hits: Sequence[bool]) -> float:
    return round(sum(hits) / len(hits), 4) if hits else 1.0


def _bleu(rewritten: Sequence[str], references: Sequence[str]) -> float:
    try:
        import sacrebleu
    except ImportError:
        raise ConfigurationError("evaluate followups needs sacrebleu: pip install 'answerbus-lab[followups]'") from None
    return round(float(sacrebleu.corpus_bleu(list(rewritten), [list(references)]).score), 1)


def read_cases(path: Path) -> list[FollowupCase]:
    """Read JSON lines with `_id`, `raw`, `rewrite` and `history`: texts, or turns with `user` and `system`.

    Raises:
        RefusedError: the file cannot be read.
    """
    return [case for _, record in json_lines(path) if (case := _case(record)) is not None]


def _case(values: Mapping[str, Any]) -> FollowupCase | None:
    raw, rewrite = (next((str(values[key]) for key in keys if values.get(key)), "") for keys in (_RAW, _REWRITE))
    history = values.get("history")
    if not raw or not rewrite or not isinstance(history, list):
        return None
    group = str(values.get("_id", "all")).partition("_")[0]
    return FollowupCase(group, raw, rewrite, tuple(map(_turn, history)), str(values.get("passage") or ""))


def _turn(value: Any) -> Turn:
    if isinstance(value, dict):
        return Turn(question=str(value.get("user", "")), answer=str(value.get("system", "")))
    return Turn(question=str(value), answer="")
