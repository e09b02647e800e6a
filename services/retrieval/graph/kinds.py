"""The kind of an entity, and the kind of a relation between two entities, by cue words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from services.retrieval.graph.cue_words import WORDS
from services.retrieval.graph.ports import RelationKind
from shared.contracts.requests.retrieval import EntityKind
from shared.language.packs import either, once, phrase

_WORDS = tuple(WORDS.values())


def _grouped(cues: Mapping[str, Iterable[str]]) -> str:
    """A group for each kind, in the order in which they are tried."""
    return "|".join(rf"(?P<{kind}>\b{either(patterns)}\b)" for kind, patterns in cues.items())


#: In this order the kinds are tried on `X is a …`; the head noun decides.
_ORDER: tuple[EntityKind, ...] = ("framework", "pattern", "technology", "organization", "person", "concept")
_KINDS = re.compile(
    _grouped({kind: once(words.kinds.get(kind, ()) for words in _WORDS) for kind in _ORDER}), re.IGNORECASE
)
_COPULA = re.compile(
    rf"\b{phrase(words.copulas for words in _WORDS)} {either(once(words.predicates for words in _WORDS))}\b"
    rf"|\b{phrase(words.births for words in _WORDS)}\b",
    re.IGNORECASE,
)
_DESCRIBED = 80

#: Cues within the last few words before a name.
_RELATIONS = re.compile(
    _grouped(
        {
            kind: once(words.relations.get(kind, ()) for words in _WORDS)
            for kind in dict.fromkeys(kind for words in _WORDS for kind in words.relations)
        }
    )
)
#: How many words before a name are searched for a cue.
_BEFORE = 6


def kind_of(name: str, context: str) -> EntityKind:
    """The kind by the words after `is a` in the context, else by the name itself, else `other`."""
    copula = _COPULA.search(context)
    described = context[copula.start() : copula.end() + _DESCRIBED] if copula else ""
    found = _KINDS.search(described) or _KINDS.search(name)
    return found.lastgroup if found and found.lastgroup else "other"  # type: ignore[return-value]  # a group per kind


def relation_of(words: Sequence[str], start: int) -> RelationKind:
    """The kind of relation by the nearest cue before the name at `words[start]`; `related_to` without a cue."""
    before = " ".join(words[max(0, start - _BEFORE) : start])
    kind: str | None = None
    for found in _RELATIONS.finditer(before):
        kind = found.lastgroup
    return kind or "related_to"  # type: ignore[return-value]  # a group per kind
