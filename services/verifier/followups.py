"""What the asker may want to know next: the questions that other passages answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from services.verifier.groundedness import plain
from shared.contracts.domain import Citation, Passage


def followups(
    question: str, citations: Sequence[Citation], passages: Sequence[Passage], *, most: int
) -> tuple[str, ...]:
    """Up to `most` titles, best passage first, that are questions and neither asked nor answered already.

    Of a title `document — heading` the part that is a question is taken.
    """
    cited = {citation.passage for citation in citations}
    seen = {_alike(question), *(_alike(citation.title) for citation in citations)}
    found: list[str] = []
    for passage in passages:
        title = passage.title.strip().rsplit(" — ", 1)[-1].strip()
        key = _alike(title)
        if passage.id in cited or not title.endswith(("?", "？")) or key in seen:
            continue
        seen.add(key)
        found.append(title)
    return tuple(found[:most])


def _alike(title: str) -> str:
    return plain(title.rsplit(" — ", 1)[-1]).rstrip("?？ ").strip()
