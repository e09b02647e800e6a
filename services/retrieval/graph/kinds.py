"""The kind of an entity, and the kind of a relation between two entities, by cue words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.retrieval.graph.ports import RelationKind
from shared.contracts.requests.retrieval import EntityKind

#: In the order in which they are tried on `X is a …`; the head noun decides.
_KIND_CUES: tuple[tuple[EntityKind, str], ...] = (
    ("framework", "frameworks?|librar(?:y|ies)|toolkit|sdk|middleware|bibliothèque logicielle"),
    (
        "pattern",
        "patterns?|antipattern|algorithms?|methods?|techniques?|strateg(?:y|ies)|heuristics?|algorithme|méthode",
    ),
    (
        "technology",
        "protocols?|software|programming language|databases?|engine|operating system|standard|platform|devices?"
        "|computers?|machine|server|api|file format|tool|application|logiciel|protocole|langage",
    ),
    (
        "organization",
        "compan(?:y|ies)|organi[sz]ations?|agency|agencies|universit(?:y|ies)|school|institute|ministry|department"
        "|committee|commission|association|band|club|team|party|bank|corporation|foundation|office|entreprise"
        "|organisme|ministère|autorité|université",
    ),
    (
        "person",
        "born|died|writer|author|actor|actress|politician|singer|composer|director|player|footballer|king|queen"
        "|duke|count|countess|prince|princess|bishop|emperor|scientist|physicist|engineer|lawyer|painter|poet"
        "|musician|journalist|daughter|son|née?|écrivain|homme politique|acteur|actrice",
    ),
    (
        "concept",
        "concepts?|theor(?:y|ies)|principles?|process|idea|notion|right|law|rule|term|state|form|type|kind|droit"
        "|principe|règle",
    ),
)
_KINDS = re.compile("|".join(rf"(?P<{kind}>\b(?:{cues})\b)" for kind, cues in _KIND_CUES), re.IGNORECASE)
_COPULA = re.compile(
    r"\b(?:is|are|was|were|est|sont|était) (?:an?|the|one of the|une?|le|la|les)\b|\b(?:born|née?)\b", re.I
)
_DESCRIBED = 80

#: Cues within the last few words before a name.
_RELATION_CUES: tuple[tuple[RelationKind, str], ...] = (
    (
        "depends_on",
        "depends? (?:up)?on|depending on|relies on|rely on|requires?|needs?|based on|depend de|repose sur|requiert"
        "|necessite",
    ),
    ("extends", "extends?|extending|extension of|inherits? from|builds? on|subclass of|variant of|etend|extension de"),
    ("implements", "implements?|implementing|implementation of|implemente|mise en oeuvre de"),
    (
        "part_of",
        "part of|belongs? to|member of|component of|module of|section of|division of|located in|contained in"
        "|fait partie de|membre de|appartient a",
    ),
    (
        "uses",
        "uses?|used|using|utili[sz]es?|utili[sz]ing|employs?|by means of|powered by|with the help of|utilise"
        "|a l aide de",
    ),
)
_RELATIONS = re.compile("|".join(rf"(?P<{kind}>\b(?:{cues})\b)" for kind, cues in _RELATION_CUES))
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
