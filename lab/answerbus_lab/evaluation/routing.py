"""`answerbus evaluate routing`: to which class questions are routed, by rules and examples, on labelled questions."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.json_lines import json_lines
from answerbus_lab.evaluation.stage_parts import question_router
from shared.contracts.errors import RefusedError
from shared.contracts.pipelines import Pipeline
from shared.contracts.requests.moderation import NO_CLASS

#: Words for a question of no class.
_NO_CLASS = (None, "", NO_CLASS)


async def evaluate(path: Path, pipeline: Pipeline, *, per_text: bool = False) -> dict[str, Any]:
    """How many questions are routed to their class, and how many without a class stay.

    `precision` is of those routed, `recall` of those with a class, each also by class. With `per_text`, `texts` has
    each question that was routed wrongly.

    Raises:
        RefusedError: the file has no questions, or a class that the pipeline has not.
        PipelineError: the pipeline's gateway section is invalid, or has no routing.
    """
    classes, route = question_router(pipeline)
    right: dict[str, list[bool]] = defaultdict(list)
    routed: dict[str, list[bool]] = defaultdict(list)
    took: list[float] = []
    mistakes: list[dict[str, Any]] = []
    for number, row in json_lines(path, "text"):
        expected = "" if row.get("class") in _NO_CLASS else str(row["class"])
        if expected and expected not in classes:
            raise RefusedError(
                f"{path}: line {number}: the pipeline has no class {expected!r}, but {', '.join(classes)}"
            )
        began = time.perf_counter()
        found, by, confidence = await route(str(row["text"]))
        took.append((time.perf_counter() - began) * 1e3)
        right[expected].append(found == expected)
        if found:
            routed[found].append(found == expected)
        if found != expected:
            outcome = f"{expected or 'no class'} routed to {found or 'no class'} by {by} ({confidence:.2f})"
            wrong = {"text": row["text"], "class": expected, "routed_to": found, "by": by, "outcome": outcome}
            mistakes.append(wrong)
    if not took:
        raise RefusedError(f"{path}: no questions; write JSON lines with text and class")
    return _measured(right, routed, sorted(took)) | ({"texts": mistakes} if per_text else {})


def _measured(right: dict[str, list[bool]], routed: dict[str, list[bool]], took: list[float]) -> dict[str, Any]:
    with_class = [hit for name, each in right.items() if name for hit in each]
    metrics = {"accuracy": _share([hit for each in right.values() for hit in each])}
    metrics |= {"precision": _share([hit for each in routed.values() for hit in each]), "recall": _share(with_class)}
    metrics |= {"stay": _share(right[""])} if "" in right else {}
    for name in sorted(name for name in right if name):
        metrics[f"precision_{name}"], metrics[f"recall_{name}"] = _share(routed[name]), _share(right[name])
    figures = {"questions": len(took), "route_ms": {"p50": round(took[len(took) // 2], 3), "max": round(took[-1], 3)}}
    return {"metrics": {name: round(value, 4) for name, value in metrics.items()}, "figures": figures}


def _share(each: list[bool]) -> float:
    return sum(each) / len(each) if each else 0.0
