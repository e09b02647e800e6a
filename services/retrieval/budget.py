"""How much of what was found fits into one event."""

from __future__ import annotations

from collections.abc import Sequence

from shared.domain import Passage
from shared.text import sentences

#: An event stays under 64 KB; the rest is the question, its turns and the envelope, in bytes of JSON.
PASSAGE_BYTES = 44_000


def within_budget(passages: Sequence[Passage], *, max_chars: int, max_bytes: int = PASSAGE_BYTES) -> list[Passage]:
    """The passages in order, each cut to `max_chars` characters, as many as fit in `max_bytes` of JSON."""
    fitting: list[Passage] = []
    left = max_bytes
    for passage in passages:
        cut = shortened(passage, max_chars)
        left -= len(cut.model_dump_json().encode()) + 1
        if left < 0:
            break
        fitting.append(cut)
    return fitting


def shortened(passage: Passage, max_chars: int) -> Passage:
    """The passage up to the last sentence that ends within `max_chars`; mid-sentence when not even the first does."""
    if len(passage.text) <= max_chars:
        return passage
    # Read on a little, so that a sentence does not seem to end where the text was cut.
    ends = [end for _, end in sentences(passage.text[: max_chars + 80]) if end <= max_chars]
    end = ends[-1] if ends else max_chars
    return passage.model_copy(update={"text": passage.text[:end], "end": passage.start + end})
