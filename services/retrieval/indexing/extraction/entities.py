"""The model's reply, and merging it into the graph of a document. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, Field

from services.retrieval.graph.names import is_name, key
from services.retrieval.graph.ports import Definition, DocumentGraph, Entity, Relation, RelationKind
from shared.contracts.requests.retrieval import EntityKind

#: Weight of a definition found by a model: more than a term in a text, less than a heading.
_WEIGHT = 0.3
_LONGEST = 120

_Name = Annotated[
    str, BeforeValidator(lambda value: " ".join(value.split())[:_LONGEST] if isinstance(value, str) else value)
]


def _one_of(kinds: tuple[str, ...], otherwise: str) -> BeforeValidator:
    """Replaces an unknown kind by `otherwise`: an entity of an invented kind is still an entity."""

    def known(value: Any) -> Any:
        kind = value.strip().lower().replace(" ", "_") if isinstance(value, str) else otherwise
        return kind if kind in kinds else otherwise

    return BeforeValidator(known)


class ExtractedEntity(BaseModel):
    name: _Name
    kind: Annotated[EntityKind, _one_of(get_args(EntityKind), "other")] = "other"


class ExtractedRelation(BaseModel):
    subject: _Name
    object: _Name
    kind: Annotated[RelationKind, _one_of(get_args(RelationKind), "related_to")] = "related_to"


class ExtractionReply(BaseModel):
    """The model's reply for one batch of passages."""

    entities: list[ExtractedEntity] = Field(default_factory=list, max_length=200)
    relations: list[ExtractedRelation] = Field(default_factory=list, max_length=200)


def merged(document_graph: DocumentGraph, replies: Mapping[tuple[str, ...], ExtractionReply]) -> DocumentGraph:
    """Add the model's replies, by the ids of the passages of each batch, to the graph of a document.

    A name that occurs in none of the passages of its batch, or does not qualify as a name, is ignored; a relation needs
    both entities. What the rules found is kept, except that the model's kind replaces `other`.
    """
    texts = {text.passage: f" {' '.join(text.words)} " for text in document_graph.texts}
    entities = {entity.key: entity for entity in document_graph.entities}
    defined = dict.fromkeys((definition.passage, definition.entity) for definition in document_graph.definitions)
    definitions, relations = list(document_graph.definitions), dict.fromkeys(document_graph.relations)
    for passages, reply in replies.items():
        here = {entity for entity in entities if any(f" {entity} " in texts[passage] for passage in passages)}
        for entity in reply.entities:
            compared = key(entity.name)
            where = _first(compared, passages, texts) if is_name(entity.name, compared) else None
            if where is None:
                continue
            here.add(compared)
            known = entities.get(compared)
            if known is None or known.kind == "other":
                entities[compared] = Entity(compared, known.name if known else entity.name, entity.kind)
            if known is None and (where, compared) not in defined:
                definitions.append(Definition(where, compared, _WEIGHT))
        ends = here | document_graph.own
        for relation in reply.relations:
            subject, target = key(relation.subject), key(relation.object)
            if subject != target and subject in ends and target in ends and {subject, target} <= set(entities):
                relations[Relation(subject, relation.kind, target)] = None
    return replace(
        document_graph, entities=tuple(entities.values()), definitions=tuple(definitions), relations=tuple(relations)
    )


def _first(compared: str, passages: Sequence[str], texts: Mapping[str, str]) -> str | None:
    """The first of the passages that contains the name."""
    return next((passage for passage in passages if f" {compared} " in texts[passage]), None)
