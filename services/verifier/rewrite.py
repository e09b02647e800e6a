"""The question once more, for a search that failed. Pure."""

from __future__ import annotations

import re

from shared.text.analysis import stems

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def rewrite(question: str, language: str, said: frozenset[str]) -> str:
    """The question's meaning-bearing words, as typed and in order, without the words that carry grammar.

    Words that the refuted answer did not speak of (`said` holds its stems) stand at the head and once more in their
    place, so that they weigh double in the next search. A question of grammar only stays as it is.
    """
    kept: list[str] = []
    missing: list[str] = []
    for word in _WORD.findall(question):
        found = stems(word, language)
        if found and word not in kept:
            kept.append(word)
            if not said.issuperset(found):
                missing.append(word)
    if len(missing) == len(kept):
        missing = []
    return " ".join((*missing, *kept)) or question
