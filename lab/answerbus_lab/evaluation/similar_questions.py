"""`answerbus evaluate similar`: whether the semantic cache reuses answers for the right questions, and no others.

There are two kinds of data sets. Pairs of questions, labelled as asking the same or not: measured for each pair alone,
and with all first questions stored together and the second ones asked. Questions with intents, some to store and some
to ask: a reused answer is right if its question has the same intent. Precision is the share of reused answers that are
right, recall the share of questions with a reusable answer that got it; intervals are Wilson's (1927), at 95 %.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from answerbus_lab.evaluation.counted_models import CountedModels, models_with_fast
from answerbus_lab.evaluation.patience import patiently
from answerbus_lab.evaluation.semantic_cache_trial import SemanticCacheTrial
from shared.contracts.errors import RefusedError
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings

_PAIRS = (("question_1", "question1", "sentence1", "text_1"), ("question_2", "question2", "sentence2", "text_2"))
_LABELS = ("similar", "is_duplicate", "label", "duplicate")
_TEXTS, _INTENTS = ("text", "question", "query"), ("category", "intent", "label", "answer")
#: Questions that are embedded in one request.
_BATCH = 200
#: Matches that the model is asked about concurrently.
_AT_ONCE = 8
#: So long that no reply of the model is missing because the machine is busy, or has just loaded its client.
_REFEREE_SECONDS = 60
#: Wrongly reused answers that are listed.
_LISTED = 50


@dataclass(frozen=True)
class QuestionPair:
    """Two questions, and whether they ask the same."""

    one: str
    other: str
    same: bool


@dataclass(frozen=True)
class SimilarityDataset:
    """Either `pairs`, or questions with intents: those to store (`kept`) and those to ask (`asked`)."""

    pairs: tuple[QuestionPair, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    asked: tuple[tuple[str, str], ...] = ()


class Reuse(NamedTuple):
    """A question that got the answer of an earlier one; `intents` belong to both, if known."""

    asked: str
    kept: str
    right: bool
    intents: tuple[str, str] = ("", "")

    def as_json(self) -> dict[str, str]:
        """For the list of wrong ones."""
        named = {"intent": self.intents[0], "given": self.intents[1]} if self.intents[0] else {}
        return {"asked": self.asked, "kept": self.kept, **named}


@dataclass
class ReuseCounts:
    """How many questions were asked, have a reusable answer, and got one."""

    reusable: int = 0
    asked: int = 0
    reused: list[Reuse] = field(default_factory=list)

    @property
    def given(self) -> int:
        return len(self.reused)

    @property
    def right(self) -> int:
        return sum(reuse.right for reuse in self.reused)

    @property
    def wrong(self) -> list[dict[str, str]]:
        return [reuse.as_json() for reuse in self.reused if not reuse.right]

    def metrics(self, prefix: str = "") -> dict[str, float]:
        precision = self.right / self.given if self.given else 1.0
        return {
            f"{prefix}precision": round(precision, 4),
            f"{prefix}recall": round(self.right / max(1, self.reusable), 4),
        }

    def intervals(self, prefix: str = "") -> dict[str, list[float]]:
        return {
            f"{prefix}precision": wilson(self.right, self.given),
            f"{prefix}recall": wilson(self.right, self.reusable),
        }


class AnswerReuseTrial(Protocol):
    """The semantic cache of the retrieval stage: stored questions, and the decision whether an answer is reused."""

    @property
    def by_meaning(self) -> bool: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def prepare(self, texts: Sequence[str]) -> None: ...

    async def keep(self, questions: Sequence[tuple[str, str]]) -> None: ...

    async def ask(self, text: str) -> tuple[str, str, str]: ...

    async def compare(self, one: str, other: str) -> tuple[bool, str]: ...

    async def objection(self, one: str, other: str) -> str: ...


async def evaluate(
    path: Path,
    settings: Settings,
    pipeline: Pipeline,
    *,
    language: str = "eng",
    limit: int = 0,
    referee: bool = False,
) -> dict[str, Any]:
    """The measures on the data set in `path`, a file or a folder, for its first `limit` questions (0: all).

    With `referee`, the model that plays `fast` is asked about every match, as with the setting `model` of the semantic
    cache; the measures of what it confirms are called `referee_…`.

    Raises:
        RefusedError: it is not such a data set.
        ConfigurationError: `referee`, but no model has the role `fast`.
    """
    dataset = read(path, language)
    if not referee:
        return await _evaluated(SemanticCacheTrial(settings, pipeline, language), dataset, limit, referee=False)
    models = models_with_fast("--referee")
    counted = CountedModels(models)
    try:
        trial = SemanticCacheTrial(settings, _patient(pipeline), language, counted)
        result = await _evaluated(trial, dataset, limit, referee=True)
    finally:
        await models.close()
    result["figures"]["model_calls"] = counted.calls
    return result


def _patient(pipeline: Pipeline) -> Pipeline:
    """The pipeline with a long timeout of the referee, unless it sets one."""
    section = pipeline.sections.get("retrieval", {})
    cache = {"model_seconds": _REFEREE_SECONDS, **section.get("semantic_cache", {})}
    return pipeline.model_copy(
        update={"sections": {**pipeline.sections, "retrieval": {**section, "semantic_cache": cache}}}
    )


async def _evaluated(
    trial: AnswerReuseTrial, dataset: SimilarityDataset, limit: int, *, referee: bool
) -> dict[str, Any]:
    await trial.open()
    try:
        began = time.perf_counter()
        if dataset.pairs:
            result = await _pairs(trial, dataset.pairs[: limit or None], referee=referee)
        else:
            result = await _intents(trial, dataset.kept, dataset.asked[: limit or None], referee=referee)
        result["figures"]["compared"] = "by meaning" if trial.by_meaning else "by words"
        result["figures"]["seconds"] = round(time.perf_counter() - began, 1)
        return result
    finally:
        await trial.close()


async def _pairs(trial: AnswerReuseTrial, pairs: Sequence[QuestionPair], *, referee: bool) -> dict[str, Any]:
    """Each pair alone, in all and by halves of the data set, then all first questions together."""
    alone = ReuseCounts()
    halves = (ReuseCounts(), ReuseCounts())
    for number, pair in enumerate(pairs):
        if number % _BATCH == 0:
            ahead = pairs[number : number + _BATCH]
            texts = [text for pair in ahead for text in (pair.one, pair.other)]
            await patiently(trial.prepare, texts)
        given, _ = await patiently(trial.compare, pair.other, pair.one)
        for counts in (alone, halves[_half(pair.one)]):
            counts.reusable += pair.same
            counts.reused += [Reuse(pair.other, pair.one, pair.same)] * given
    together = await _together(trial, pairs)
    result: dict[str, Any] = {
        "metrics": {**alone.metrics(), **together.metrics("together_")},
        "intervals": {**alone.intervals(), **together.intervals("together_")},
        "figures": {
            "pairs": len(pairs),
            "same": alone.reusable,
            "given": alone.given,
            "halves": [{**half.metrics(), "given": half.given, "same": half.reusable} for half in halves],
            "together": {"asked": together.asked, "given": together.given},
        },
        "wrong": [*alone.wrong, *together.wrong][:_LISTED],
    }
    if referee:
        await _add_referee(result, trial, {"": alone, "together_": together})
    return result


async def _add_referee(result: dict[str, Any], trial: AnswerReuseTrial, groups: Mapping[str, ReuseCounts]) -> None:
    """Adds the measures of the rest when the model is asked about each match, and the stopped ones."""
    stopped: dict[str, dict[str, int]] = {}
    left_wrong: list[dict[str, str]] = []
    limiter = asyncio.Semaphore(_AT_ONCE)

    async def confirmed(one: Reuse) -> bool:
        async with limiter:
            return not await trial.objection(one.asked, one.kept)

    for prefix, counts in groups.items():
        kept = await asyncio.gather(*map(confirmed, counts.reused))
        left = replace(counts, reused=[count for count, keeps in zip(counts.reused, kept, strict=True) if keeps])
        result["metrics"] |= left.metrics(f"referee_{prefix}")
        result["intervals"] |= left.intervals(f"referee_{prefix}")
        right = counts.right - left.right
        stopped[prefix.rstrip("_") or "all"] = {"right": right, "wrong": counts.given - left.given - right}
        left_wrong += left.wrong
    result["figures"]["stopped_by_referee"] = stopped
    result["wrong_with_referee"] = left_wrong[:_LISTED]


async def _together(trial: AnswerReuseTrial, pairs: Sequence[QuestionPair]) -> ReuseCounts:
    """Every second question is asked, also those that ask the same as none: any answer that they get is wrong.

    A question may ask the same as several others, and pairs that are the same make their questions the same (if A asks
    the same as B, and B the same as C, then A asks the same as C).
    """
    kept = dict.fromkeys(pair.one for pair in pairs)
    asked = list(dict.fromkeys(pair.other for pair in pairs if pair.other not in kept))
    groups = _groups(pairs)
    await patiently(trial.keep, [(question, question) for question in kept])
    stored = {groups[question] for question in kept}
    counts = ReuseCounts(reusable=sum(groups[question] in stored for question in asked), asked=len(asked))
    for number, question in enumerate(asked):
        if number % _BATCH == 0:
            await patiently(trial.prepare, asked[number : number + _BATCH])
        _, origin, _ = await patiently(trial.ask, question)
        if origin:
            counts.reused.append(Reuse(question, origin, groups[origin] == groups[question]))
    return counts


def _groups(pairs: Sequence[QuestionPair]) -> dict[str, str]:
    """Each question with a representative of those that ask the same."""
    above: dict[str, str] = {text: text for pair in pairs for text in (pair.one, pair.other)}

    def representative(text: str) -> str:
        while above[text] != text:
            above[text] = above[above[text]]
            text = above[text]
        return text

    for pair in pairs:
        if pair.same:
            above[representative(pair.other)] = representative(pair.one)
    return {text: representative(text) for text in above}


async def _intents(
    trial: AnswerReuseTrial, kept: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]], *, referee: bool
) -> dict[str, Any]:
    intents = {intent for _, intent in kept}
    await patiently(trial.keep, list(dict.fromkeys(kept)))
    counts = ReuseCounts(reusable=sum(intent in intents for _, intent in asked))
    why: dict[str, int] = {}
    took: list[float] = []
    for number, (text, intent) in enumerate(asked):
        if number % _BATCH == 0:
            ahead = [pair for pair, _ in asked[number : number + _BATCH]]
            await patiently(trial.prepare, ahead)
        began = time.perf_counter()
        answer, origin, reason = await patiently(trial.ask, text)
        took.append((time.perf_counter() - began) * 1e3)
        why[reason.partition(":")[0]] = why.get(reason.partition(":")[0], 0) + (not origin)
        if origin:
            counts.reused.append(Reuse(text, origin, answer == intent, (intent, answer)))
    took.sort()
    often = sorted(why.items(), key=lambda reason: -reason[1])[:10]
    result: dict[str, Any] = {
        "metrics": counts.metrics(),
        "intervals": counts.intervals(),
        "figures": {
            "kept": len(kept),
            "asked": len(asked),
            "given": counts.given,
            "look_ms": {"p50": round(took[len(took) // 2], 2), "p99": round(took[int(0.99 * (len(took) - 1))], 2)},
            "not_given": {reason: count for reason, count in often if count},
        },
        "wrong": counts.wrong[:_LISTED],
    }
    if referee:
        await _add_referee(result, trial, {"": counts})
    return result


def wilson(hits: int, of: int) -> list[float]:
    """The 95 % interval of a share (Wilson, 1927).

    >>> wilson(10, 10)
    [0.7225, 1.0]
    """
    if not of:
        return [0.0, 1.0]
    z, share = 1.959964, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    reach = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return [round(max(0.0, middle - reach), 4), round(min(1.0, middle + reach), 4)]


def read(path: Path, language: str = "eng") -> SimilarityDataset:
    """Read a CSV of pairs, or a folder with one for the language (`pairs_en.csv`), or with `train.csv` and `test.csv`.

    Raises:
        RefusedError: the file does not exist, or has other columns.
    """
    if path.is_dir() and (path / "train.csv").is_file() and (path / "test.csv").is_file():
        return SimilarityDataset(kept=_with_intents(path / "train.csv"), asked=_with_intents(path / "test.csv"))
    if path.is_dir():
        found = sorted(path.glob(f"*{language[:2]}*.csv")) or sorted(path.glob("*.csv"))
        if not found:
            raise RefusedError(f"{path}: expected train.csv and test.csv, or a CSV of pairs")
        path = found[0]
    pairs = tuple(_pair(row, path) for row in _rows(path))
    if not any(pair.same for pair in pairs):
        raise RefusedError(f"{path}: no pair is labelled as asking the same")
    return SimilarityDataset(pairs=pairs)


def _with_intents(path: Path) -> tuple[tuple[str, str], ...]:
    return tuple((_cell(row, _TEXTS, path), _cell(row, _INTENTS, path)) for row in _rows(path))


def _pair(row: Mapping[str, str], path: Path) -> QuestionPair:
    one, other = (_cell(row, names, path) for names in _PAIRS)
    return QuestionPair(one, other, _cell(row, _LABELS, path).strip().lower() in ("1", "1.0", "true", "yes"))


def _cell(row: Mapping[str, str], names: Sequence[str], path: Path) -> str:
    for name in names:
        if row.get(name):
            return row[name]
    raise RefusedError(f"{path}: a row has none of the columns {', '.join(names)}")


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RefusedError(f"{path}: expected CSV in UTF-8 ({type(error).__name__})") from None


def _half(question: str) -> int:
    """0 or 1, always the same for a question."""
    return hashlib.sha256(question.encode()).digest()[-1] % 2
