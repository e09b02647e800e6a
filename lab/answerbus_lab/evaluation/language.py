"""`answerbus evaluate language`: how well the translation stage detects languages, on labelled texts."""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cli.host.catalogue import builder, offline_context
from shared.contracts.domain import PipelineRef, Question
from shared.contracts.envelope import opening
from shared.contracts.errors import RefusedError
from shared.contracts.facts import QuestionApproved, QuestionCleared
from shared.contracts.pipelines import Pipeline, Section
from shared.contracts.stage import Subscription
from shared.text.languages import UNKNOWN, code3

_TEXTS, _CODES = ("text", "question", "query"), ("language", "lang", "iso", "label")


async def evaluate(path: Path, pipeline: Pipeline, *, per_text: bool = False) -> dict[str, Any]:
    """The share of texts with a detected language, in all and for each language of the pipeline.

    With `per_text`, `texts` has each text with an undetected language, with the one it was taken for.

    Raises:
        RefusedError: the file has no texts in these languages.
        PipelineError: the pipeline's translation section is invalid.
    """
    stage = builder("translation")(offline_context())
    assert stage.settings is not None
    section = pipeline.section("translation", stage.settings)
    languages = tuple(getattr(section, "languages", ()))
    cases = [(code, text) for code, text in read_texts(path) if code in languages]
    if not cases:
        raise RefusedError(f"{path}: no texts in any of {', '.join(languages)}")
    subscription = next(subscription for subscription in stage.subscriptions if QuestionApproved in subscription.facts)
    right: dict[str, list[bool]] = defaultdict(list)
    took: list[float] = []
    mistakes: list[dict[str, str]] = []
    for port in stage.ports:
        await port.open()
    try:
        for code, text in cases:
            began = time.perf_counter()
            detected = await _detected(subscription, text, section)
            took.append((time.perf_counter() - began) * 1e3)
            right[code].append(detected == code)
            if detected != code:
                mistakes.append({"text": text, "language": code, "detected": detected})
    finally:
        for port in stage.ports:
            await port.close()
    return _result(right, sorted(took)) | ({"texts": mistakes} if per_text else {})


async def _detected(subscription: Subscription, text: str, section: Section) -> str:
    """The language that the stage detects."""
    fact = QuestionApproved(question=Question(text=text))
    event = opening("moderation", fact, pipeline=PipelineRef(name="default", revision=1), deadline_seconds=60)
    cleared = await subscription.handle(event, section)
    assert isinstance(cleared, QuestionCleared)
    return cleared.question.language


def _result(right: dict[str, list[bool]], took: Sequence[float]) -> dict[str, Any]:
    shares = {f"accuracy_{code}": sum(each) / len(each) for code, each in sorted(right.items())}
    every = [hit for each in right.values() for hit in each]
    metrics = {"accuracy": sum(every) / len(every), **shares}
    return {
        "metrics": {name: round(value, 4) for name, value in metrics.items()},
        "figures": {
            "texts": len(every),
            "languages": sorted(right),
            "recognise_ms": {"p50": round(took[len(took) // 2], 3), "p99": round(took[int(0.99 * (len(took) - 1))], 3)},
        },
    }


def read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Language (ISO 639-3) and text of each line: JSON lines or two columns separated by a tab; may be gzipped.

    Raises:
        RefusedError: the file cannot be read.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            if path.name.removesuffix(".gz").endswith(".jsonl"):
                rows = (_pair(json.loads(line)) for line in file if line.strip())
            else:
                rows = (
                    (cells[0], cells[1])
                    for cells in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                    if len(cells) > 1
                )
            for spoken, text in rows:
                if (code := code3(spoken)) != UNKNOWN and text.strip():
                    yield code, text
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror or 'not gzip'}") from None
    except (ValueError, csv.Error):
        raise RefusedError(f"{path}: expected JSON lines, or language and text separated by a tab") from None


def _pair(record: Any) -> tuple[str, str]:
    values = record if isinstance(record, dict) else {}
    return (
        str(next((values[key] for key in _CODES if values.get(key)), "")),
        str(next((values[key] for key in _TEXTS if values.get(key)), "")),
    )
