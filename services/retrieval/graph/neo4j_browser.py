"""The graph on a Neo4j server as one viewer may see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from services.retrieval.graph.names import key
from services.retrieval.graph.neo4j_statements import RELATION_TYPES
from services.retrieval.graph.ports import (
    MOST_COUNTED,
    Entity,
    LinkedPassage,
    Relation,
    SeenEntity,
    SourcedRelation,
)
from shared.contracts.document_access import DocumentViewer

_ANY = "|".join(RELATION_TYPES.values())
#: Documents that were put before they had groups are for everybody.
_MAY_READ = "($everything OR coalesce(size({node}.groups), 0) = 0 OR any(one IN {node}.groups WHERE one IN $groups))"
_PASSAGE, _SOURCE = _MAY_READ.format(node="p"), _MAY_READ.format(node="s")
_SEEN = f"""
CALL (e) {{
    MATCH (e)<-[:DEFINES|MENTIONS]-(p:Passage) WHERE {_PASSAGE}
    WITH DISTINCT p LIMIT {MOST_COUNTED:d} RETURN count(p) AS passages
}}
WITH * WHERE passages > 0 AND ($kind = '' OR e.kind = $kind)
RETURN e.key AS key, e.name AS name, e.kind AS kind, passages
"""
_PAGE = "ORDER BY {order}, key SKIP $offset LIMIT $limit"
_SEARCH = f"""
CALL db.index.fulltext.queryNodes('answerbus_entities', $text) YIELD node AS e, score
{_SEEN} {_PAGE.format(order="score DESC")}"""
_ALL = f"""
MATCH (e:Entity) WITH e, COUNT {{ (e)<-[:MENTIONS]-() }} AS mentioned
{_SEEN} {_PAGE.format(order="mentioned DESC")}"""
_NAMED = f"MATCH (e:Entity) WHERE e.key IN $keys {_SEEN} {_PAGE.format(order='key')}"
_AT = f"""
MATCH (p:Passage)-[r:DEFINES|MENTIONS]->(e:Entity) WHERE p.key IN $keys AND {_PASSAGE}
WITH e, max(coalesce(r.weight, 0.0)) AS weight, count(*) AS number
{_SEEN} {_PAGE.format(order="weight DESC, number DESC")}"""
_RELATIONS = f"""
{{which}}
WITH DISTINCT r MATCH (s:Source {{{{key: r.source}}}}) WHERE {_SOURCE}
WITH startNode(r).key AS subject, toLower(type(r)) AS kind, endNode(r).key AS target, collect(DISTINCT s.key) AS sources
RETURN subject, kind, target, sources
ORDER BY kind = 'related_to', subject, kind, target SKIP $offset LIMIT $limit
"""
_OF_ENTITY = _RELATIONS.format(which=f"MATCH (e:Entity)-[r:{_ANY}]-(:Entity) WHERE e.key IN $keys")
_BETWEEN = _RELATIONS.format(which=f"MATCH (a:Entity)-[r:{_ANY}]->(b:Entity) WHERE a.key IN $keys AND b.key IN $keys")
_FIELDS = "p.key AS passage, s.key AS source, p.words AS words"
_PASSAGES_OF = f"""
MATCH (:Entity {{key: $entity}})<-[r:DEFINES|MENTIONS]-(p:Passage)<-[:HAS]-(s:Source) WHERE {_PASSAGE}
WITH p, s, max(coalesce(r.weight, 0.0)) AS weight RETURN {_FIELDS} ORDER BY weight DESC, p.key LIMIT $limit
"""
_STATING = f"""
MATCH (s:Source)-[:HAS]->(p:Passage)-[:DEFINES|MENTIONS]->(:Entity {{key: $target}})
WHERE s.key IN $sources AND {_PASSAGE}
WITH DISTINCT s, p, EXISTS {{ (p)-[:DEFINES|MENTIONS]->(:Entity {{key: $subject}}) }} AS both
RETURN {_FIELDS} ORDER BY both DESC, s.key, p.key LIMIT $limit
"""

Rows = list[Mapping[str, Any]]


class Neo4jGraphBrowser:
    """Implements `GraphBrowser`; `ask` runs a statement with its parameters, for the tenant of the graph."""

    def __init__(self, ask: Callable[..., Awaitable[Rows]], viewer: DocumentViewer) -> None:
        self._ask = ask
        self._viewer = {"everything": viewer.everything, "groups": list(viewer.groups)}

    async def find(self, text: str, kind: str = "", *, limit: int, offset: int = 0) -> list[SeenEntity]:
        words = key(text).split()
        if text.strip() and not words:
            return []
        # In normal form a word has letters and digits only, so that none is an operator of the query language.
        wanted = " ".join([*(f'+"{word}"' for word in words[:-1]), *(f"+{word}*" for word in words[-1:])])
        page = {"kind": kind, "limit": limit, "offset": offset}
        return await self._entities(_SEARCH if words else _ALL, text=wanted, **page)

    async def at(self, passages: Collection[str], kind: str = "", *, limit: int, offset: int = 0) -> list[SeenEntity]:
        return await self._entities(_AT, keys=list(passages), kind=kind, limit=limit, offset=offset)

    async def named(self, keys: Collection[str]) -> list[SeenEntity]:
        return await self._entities(_NAMED, keys=list(keys), kind="", limit=len(keys), offset=0)

    async def relations(self, entity: str, *, limit: int, offset: int = 0) -> list[SourcedRelation]:
        return await self._relations(_OF_ENTITY, [entity], limit, offset)

    async def between(self, entities: Collection[str], *, limit: int) -> list[SourcedRelation]:
        return await self._relations(_BETWEEN, list(entities), limit, 0)

    async def passages_of(self, entity: str, *, limit: int) -> list[LinkedPassage]:
        return _passages(await self._ask(_PASSAGES_OF, entity=entity, limit=limit, **self._viewer))

    async def stating(self, relations: Sequence[SourcedRelation], *, limit: int) -> list[list[LinkedPassage]]:
        found = []
        for (subject, _, target), sources in relations:
            ends = {"subject": subject, "target": target, "sources": list(sources)}
            found.append(_passages(await self._ask(_STATING, limit=limit, **ends, **self._viewer)))
        return found

    async def _entities(self, statement: str, **parameters: object) -> list[SeenEntity]:
        rows = await self._ask(statement, **parameters, **self._viewer)
        return [SeenEntity(Entity(row["key"], row["name"], row["kind"]), row["passages"]) for row in rows]

    async def _relations(self, statement: str, keys: list[str], limit: int, offset: int) -> list[SourcedRelation]:
        rows = await self._ask(statement, keys=keys, limit=limit, offset=offset, **self._viewer)
        return [
            SourcedRelation(Relation(row["subject"], row["kind"], row["target"]), tuple(sorted(row["sources"])))
            for row in rows
        ]


def _passages(rows: Rows) -> list[LinkedPassage]:
    return [LinkedPassage(row["passage"], row["source"], tuple(row["words"].split(" "))) for row in rows]
