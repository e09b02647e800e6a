"""What a model finds in passages, and the graphlet with that in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, Field

from services.retrieval.graph.names import is_name, key
from services.retrieval.graph.ports import Definition, DocumentGraph, Entity, EntityKind, Relation, RelationKind

#: How surely a passage says what an entity is when a model says so: more than a term in passing, less than a heading.
_WEIGHT = 0.3
_LONGEST = 120

_Name = Annotated[
    str, BeforeValidator(lambda value: " ".join(value.split())[:_LONGEST] if isinstance(value, str) else value)
]


def _one_of(kinds: tuple[str, ...], otherwise: str) -> BeforeValidator:
    """Another kind than those there are is `otherwise`: a model that makes one up has found something all the same."""

    def known(value: Any) -> Any:
        said = value.strip().lower().replace(" ", "_") if isinstance(value, str) else otherwise
        return said if said in kinds else otherwise

    return BeforeValidator(known)


class ExtractedEntity(BaseModel):
    name: _Name
    kind: Annotated[EntityKind, _one_of(get_args(EntityKind), "other")] = "other"


class ExtractedRelation(BaseModel):
    subject: _Name
    object: _Name
    kind: Annotated[RelationKind, _one_of(get_args(RelationKind), "related_to")] = "related_to"


class ExtractionReply(BaseModel):
    """The model's reply for a few passages."""

    entities: list[ExtractedEntity] = Field(default_factory=list, max_length=200)
    relations: list[ExtractedRelation] = Field(default_factory=list, max_length=200)


def merged(graphlet: DocumentGraph, found: Mapping[tuple[str, ...], ExtractionReply]) -> DocumentGraph:
    """The graphlet with what was found in its passages, by their ids.

    A name that stands in none of these passages, or is none, counts for nothing; a relation needs both of its ends.
    What the rules know stays; a model's kind replaces `other`.
    """
    spoken = {text.passage: f" {' '.join(text.words)} " for text in graphlet.texts}
    entities = {entity.key: entity for entity in graphlet.entities}
    defined = dict.fromkeys((one.passage, one.entity) for one in graphlet.definitions)
    definitions, relations = list(graphlet.definitions), dict.fromkeys(graphlet.relations)
    for passages, reply in found.items():
        here = {compared for compared in entities if any(f" {compared} " in spoken[one] for one in passages)}
        for entity in reply.entities:
            compared = key(entity.name)
            where = _first(compared, passages, spoken) if is_name(entity.name, compared) else None
            if where is None:
                continue
            here.add(compared)
            known = entities.get(compared)
            if known is None or known.kind == "other":
                entities[compared] = Entity(compared, known.name if known else entity.name, entity.kind)
            if known is None and (where, compared) not in defined:
                definitions.append(Definition(where, compared, _WEIGHT))
        ends = here | graphlet.own
        for relation in reply.relations:
            subject, target = key(relation.subject), key(relation.object)
            if subject != target and subject in ends and target in ends and {subject, target} <= set(entities):
                relations[Relation(subject, relation.kind, target)] = None
    return replace(
        graphlet, entities=tuple(entities.values()), definitions=tuple(definitions), relations=tuple(relations)
    )


def _first(compared: str, passages: Sequence[str], spoken: Mapping[str, str]) -> str | None:
    """The first of the passages that says the name."""
    return next((one for one in passages if f" {compared} " in spoken[one]), None)
