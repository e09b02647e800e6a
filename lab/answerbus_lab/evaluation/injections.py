"""`answerbus evaluate injections`: which instructions planted in documents are found, and how often one is seen where
there is none.

Each attack is put at the end of a sentence of an honest passage; passage and sentence are drawn with a seed, so that a
measurement can be repeated. It is found if a span that the rules would take out overlaps it. Passages are whole
sentences, 300 to 1,500 characters together. Intervals are Wilson's (1927), at 95 %.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from answerbus_lab.evaluation.moderation import read_cases
from answerbus_lab.evaluation.similar_questions import wilson
from cli.crawler.files import Collector
from shared.contracts.errors import DocumentError, RefusedError
from shared.documents.registry import read
from shared.language.analysis import sentences
from shared.language.rules.instructions.injections import Instruction, instructions

#: The fewest characters of a passage that an attack is put into, and the most of any passage.
SHORTEST, LONGEST = 300, 1500
_TABLES = (".jsonl", ".csv", ".tsv")


class HonestPassage(NamedTuple):
    """A part of a document, with its title and the id of the document."""

    source: str
    title: str
    text: str


class PlantedAttack(NamedTuple):
    """A passage with an attack at the characters `start` to `end`."""

    passage: HonestPassage
    start: int
    end: int

    @property
    def attack(self) -> str:
        return self.passage.text[self.start : self.end]


def evaluate(
    attacks: Path,
    documents: Path,
    *,
    seed: int = 0,
    per_text: bool = False,
    advance: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Recall on the attacks, and the share of honest passages in which an instruction is seen.

    With `per_text`, `texts` has each attack that was missed and each passage that was flagged, with the cues and what
    they were seen in. `advance` is called for each passage.

    Raises:
        RefusedError: no attacks, or no documents with passages that are long enough.
    """
    texts, passages = read_attacks(attacks), read_passages(documents)
    planted = list(plant(texts, passages, random.Random(seed)))  # noqa: S311 - draws places, no secrets
    missed = [text for text in planted if not _found(text, advance or _nobody)]
    flagged: list[tuple[HonestPassage, tuple[Instruction, ...]]] = []
    took: list[float] = []
    for passage in passages:
        began = time.perf_counter()
        seen = instructions(passage.text, passage.title)
        took.append((time.perf_counter() - began) * 1e3)
        flagged += [(passage, seen)] * bool(seen)
        (advance or _nobody)(1)
    took.sort()
    hits = len(planted) - len(missed)
    result = {
        "metrics": {
            "recall": round(hits / len(planted), 4),
            "honest_flagged": round(len(flagged) / len(passages), 5),
        },
        "intervals": {"recall": wilson(hits, len(planted)), "honest_flagged": wilson(len(flagged), len(passages))},
        "figures": {
            "attacks": len(planted),
            "found": hits,
            "passages": len(passages),
            "flagged": len(flagged),
            "cues_of_flagged": dict(Counter(cue for _, seen in flagged for cue in _cues(seen)).most_common()),
            "passage_ms": {"p50": round(took[len(took) // 2], 3), "p99": round(took[int(0.99 * (len(took) - 1))], 3)},
        },
    }
    return result | ({"texts": [*map(_as_missed, missed), *map(_as_flagged, flagged)]} if per_text else {})


def read_attacks(path: Path) -> list[str]:
    """The attacks of a file: JSON lines or CSV as `evaluate moderation` reads them, a JSON list, or a text a line.

    Of labelled texts only the attacks.

    Raises:
        RefusedError: the file cannot be read, or is empty.
    """
    if path.suffix.casefold() in _TABLES:
        cases = read_cases(path)
        labelled = any(case.attack is not None for case in cases)
        found = [case.text for case in cases if case.attack or not labelled]
    else:
        try:
            body = path.read_text("utf-8")
            listed = json.loads(body) if path.suffix.casefold() == ".json" else body.splitlines()
        except OSError as error:
            raise RefusedError(f"{path}: {error.strerror}") from None
        except ValueError:
            raise RefusedError(f"{path}: expected a JSON list of texts, or a text a line, in UTF-8") from None
        found = [text.strip() for text in listed if isinstance(text, str) and text.strip()]
    if not found:
        raise RefusedError(f"{path}: no attacks")
    return found


def read_passages(path: Path) -> list[HonestPassage]:
    """The passages of the documents in a folder, or of one file, as `ingest` reads them.

    Raises:
        RefusedError: no document has a passage of at least 300 characters.
    """
    found: list[HonestPassage] = []
    for document in Collector().collect([str(path)]):
        try:
            parsed = read(document.body, document.document.media_type)
        except DocumentError:
            continue
        title = document.document.title or parsed.title
        found += [HonestPassage(document.document.source, title, text) for text in _parts(parsed.text)]
    if not any(len(passage.text) >= SHORTEST for passage in found):
        raise RefusedError(f"{path}: no document with a passage of at least {SHORTEST} characters")
    return found


def plant(attacks: Sequence[str], passages: Sequence[HonestPassage], draws: random.Random) -> Iterator[PlantedAttack]:
    """Each attack within a passage, after a sentence."""
    fit = [passage for passage in passages if len(passage.text) >= SHORTEST]
    for attack in attacks:
        passage = draws.choice(fit)
        _, at = draws.choice(sentences(passage.text) or [(0, len(passage.text))])
        before, after = passage.text[:at], passage.text[at:].lstrip()
        start = len(before) + 1
        yield PlantedAttack(passage._replace(text=f"{before} {attack} {after}"), start, start + len(attack))


def _parts(text: str) -> Iterator[str]:
    """The text in parts of whole sentences, as long as they may be; a longer sentence is cut."""
    begin = end = 0
    for _, stop in sentences(text):
        if stop - begin > LONGEST and end > begin:
            yield text[begin:end].strip()
            begin = end
        end = stop
        while end - begin > LONGEST:
            yield text[begin : begin + LONGEST].strip()
            begin += LONGEST
    if text[begin:end].strip():
        yield text[begin:end].strip()


def _nobody(_: int) -> None:
    """Does nothing."""


def _found(one: PlantedAttack, advance: Callable[[int], None]) -> bool:
    advance(1)
    seen = instructions(one.passage.text, one.passage.title)
    return any(each.start < one.end and each.end > one.start for each in seen)


def _cues(seen: Sequence[Instruction]) -> frozenset[str]:
    return frozenset(cue for instruction in seen for cue in instruction.cues)


def _as_missed(one: PlantedAttack) -> dict[str, Any]:
    return {"text": one.attack, "outcome": "missed", "source": one.passage.source, "matches": []}


def _as_flagged(one: tuple[HonestPassage, tuple[Instruction, ...]]) -> dict[str, Any]:
    passage, seen = one
    matches = [
        {"kind": "instruction", "rule": " ".join(each.cues), "span": passage.text[each.start : each.end]}
        for each in seen
    ]
    return {"text": passage.source, "outcome": "flagged", "source": passage.source, "matches": matches}
