"""Answers given again to exact repeats of their question: kept in the key-value bucket `answers`.

Pure; persistence writes by it, the gateway reads. A reuse key is made of everything an answer depends on: the question,
the turns before it, the language asked for, tenant, pipeline revision, and the generation of the index. Whatever
changes one of them changes the key, so a kept answer is never given to another question, nor after a document has
changed.

Stored form: at the `place_of` the key (all of it but the generation) the generation, a line feed, and the answer as
JSON or `DISPUTED`. So generation and answer are read together, and an answer of an earlier generation is overwritten
rather than left behind.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence

from pydantic import ValidationError

from shared.contracts.domain import Answer, Citation, PipelineRef, Question, Turn, Value

#: The key of the index's generation; retrieval writes it anew whenever what can be found has changed.
GENERATION = "generation"
#: Kept in the place of an answer that somebody disliked, for as long as the generation lasts.
DISPUTED = b"disputed"

_CLOSING = re.compile(r"[\s?!.…]+$")


class KeptAnswer(Value):
    """A verified answer, and the id of the question it was written for."""

    question: Question
    answer: Answer
    citations: tuple[Citation, ...] = ()
    followups: tuple[str, ...] = ()
    confidence: float = 0.0
    engine: str = ""
    origin: str


def normalised(text: str) -> str:
    """The question as it is compared: NFC, one space between words, no closing marks, in small letters.

    Words in capitals stay so among others: `US` is not `us`.
    """
    words = _CLOSING.sub("", unicodedata.normalize("NFC", text)).split()
    return " ".join(word if len(word) > 1 and word.isupper() else word.casefold() for word in words)


def reuse_key(
    text: str, *, tenant: str, pipeline: PipelineRef, language: str, turns: Sequence[Turn], generation: bytes
) -> str:
    """The key of a question's answer: the digests of its text and of what else it depends on, and the generation."""
    context = [tenant, pipeline.name, pipeline.revision, language.casefold()]
    said = [[turn.question, turn.answer] for turn in turns]
    return in_generation(f"{_digest(normalised(text))}-{_digest(json.dumps([context, said]))}", generation)


def in_generation(place: str, generation: bytes) -> str:
    """The key of what is kept at that place, in that generation."""
    return f"{place}-{generation.decode('ascii', 'replace')}"


def place_of(key: str) -> str:
    """Where in the bucket the answer of a key is kept."""
    return key.rpartition("-")[0]


def generation_of(key: str) -> bytes:
    return key.rpartition("-")[2].encode()


def is_about(key: str, text: str) -> bool:
    """Whether the key was made for this text: not when moderation has taken something out of it."""
    return key.partition("-")[0] == _digest(normalised(text))


def written(content: bytes, generation: bytes) -> bytes:
    """What is stored of an answer's JSON, or of `DISPUTED`."""
    return generation + b"\n" + content


def is_disputed(stored: bytes | None, generation: bytes) -> bool:
    """Whether somebody disliked the answer that was kept in this generation."""
    return stored == written(DISPUTED, generation)


def read_kept(stored: bytes | None, generation: bytes) -> KeptAnswer | None:
    """The answer, or None when there is none that may be given in this generation."""
    told, _, content = (stored or b"").partition(b"\n")
    if told != generation or content == DISPUTED:
        return None
    try:
        return KeptAnswer.model_validate_json(content)
    except ValidationError:
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
