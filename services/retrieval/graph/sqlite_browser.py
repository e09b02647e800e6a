"""The graph in a SQLite file as one viewer may see it, read on a thread and a connection of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import orjson

from services.retrieval.graph.names import key
from services.retrieval.graph.ports import (
    MOST_COUNTED,
    Entity,
    LinkedPassage,
    Relation,
    SeenEntity,
    SourcedRelation,
)
from services.retrieval.graph.sqlite_reader import ConnectionThread
from services.retrieval.graph.sqlite_statements import READABLE
from shared.contracts.document_access import DocumentViewer

#: Every statement has the viewer's groups as JSON (`:groups`), or `:everything`.
_MAY_READ = f"(:everything OR {READABLE.format(asker=':groups')})"
#: The passages of an entity, each once, without a sort: counting ends at the limit.
_LINKS = """
SELECT passage, 0.0 AS weight FROM mentions WHERE entity = {entity} AND NOT EXISTS (
    SELECT 1 FROM defines AS defined WHERE defined.passage = mentions.passage AND defined.entity = mentions.entity
) UNION ALL SELECT passage, weight FROM defines WHERE entity = {entity}
"""
_SEEN = f"""(SELECT count(*) FROM (
    SELECT 1 FROM ({_LINKS.format(entity="one.id")}) AS link
    JOIN passage ON passage.id = link.passage JOIN source ON source.id = passage.source
    WHERE {_MAY_READ} LIMIT {MOST_COUNTED:d}
))"""  # noqa: S608
_OF_KIND = "(:kind = '' OR one.kind = :kind)"
#: Every entity is defined by a passage, so that there is nothing to look for if all may be read.
_VISIBLE = f"""(:everything OR EXISTS (
    SELECT 1 FROM ({_LINKS.format(entity="one.id")}) AS link
    JOIN passage ON passage.id = link.passage JOIN source ON source.id = passage.source WHERE {_MAY_READ}
))"""  # noqa: S608
#: Passages are counted only for the entities of the page.
_FOUND = f"""
SELECT one.key, one.name, one.kind, {_SEEN} FROM (
    SELECT one.id, row_number() OVER (ORDER BY {{order}}, one.key) AS place
    FROM {{entities}} WHERE {_OF_KIND} AND {_VISIBLE} ORDER BY place LIMIT :limit OFFSET :offset
) AS page JOIN entity AS one ON one.id = page.id ORDER BY page.place
"""  # noqa: S608
#: The name's words: from the full-text index, the best match first.
_SEARCH = _FOUND.format(
    entities="(SELECT rowid AS entity, bm25(entity_words) AS score FROM entity_words WHERE entity_words MATCH :text)"
    " JOIN entity AS one ON one.id = entity",
    order="score",
)
_ALL = _FOUND.format(entities="entity AS one", order="one.mentioned DESC")
_NAMED = _FOUND.format(
    entities="json_each(:keys) AS wanted JOIN entity AS one ON one.key = wanted.value", order="one.key"
)
_AT = _FOUND.format(
    entities=f"""(
    WITH given (id) AS (
        SELECT passage.id FROM json_each(:keys) AS wanted JOIN passage ON passage.key = wanted.value
        JOIN source ON source.id = passage.source WHERE {_MAY_READ}
    )
    SELECT entity, max(weight) AS weight, count(*) AS number FROM (
        SELECT entity, weight FROM given JOIN defines ON passage = given.id
        UNION ALL SELECT entity, 0.0 FROM given JOIN mentions ON passage = given.id
    ) GROUP BY entity
) JOIN entity AS one ON one.id = entity""",  # noqa: S608
    order="weight DESC, number DESC",
)
_RELATIONS = f"""
SELECT one.key, relation.kind, other.key, json_group_array(source.key)
FROM relation JOIN source ON source.id = relation.source
JOIN entity AS one ON one.id = relation.subject JOIN entity AS other ON other.id = relation.target
WHERE {{which}} AND {_MAY_READ}
GROUP BY relation.subject, relation.kind, relation.target
ORDER BY relation.kind = 'related_to', one.key, relation.kind, other.key LIMIT :limit OFFSET :offset
"""  # noqa: S608
_WANTED = "(SELECT entity.id FROM json_each(:keys) AS wanted JOIN entity ON entity.key = wanted.value)"
_OF_ENTITY = _RELATIONS.format(which=f"(relation.subject IN {_WANTED} OR relation.target IN {_WANTED})")
_BETWEEN = _RELATIONS.format(which=f"relation.subject IN {_WANTED} AND relation.target IN {_WANTED}")
_PASSAGES_OF = f"""
SELECT passage.key, source.key, words
FROM ({_LINKS.format(entity="(SELECT id FROM entity WHERE key = :entity)")}) AS link
JOIN passage ON passage.id = link.passage JOIN source ON source.id = passage.source
WHERE {_MAY_READ} ORDER BY weight DESC, passage.id LIMIT :limit
"""  # noqa: S608
_HAS = """EXISTS (
    SELECT 1 FROM mentions WHERE mentions.passage = passage.id AND entity = {entity}
    UNION ALL SELECT 1 FROM defines WHERE defines.passage = passage.id AND entity = {entity}
)"""
_STATING = f"""
SELECT passage.key, source.key, words
FROM json_each(:sources) AS wanted JOIN source ON source.key = wanted.value JOIN passage ON passage.source = source.id
WHERE {_MAY_READ} AND {_HAS.format(entity="(SELECT id FROM entity WHERE key = :target)")}
ORDER BY {_HAS.format(entity="(SELECT id FROM entity WHERE key = :subject)")} DESC, wanted.key, passage.id LIMIT :limit
"""  # noqa: S608


class SqliteGraphBrowser:
    """Implements `GraphBrowser`; the connection is opened when somebody browses for the first time."""

    def __init__(self, thread: ConnectionThread, path: Path, viewer: DocumentViewer) -> None:
        self._thread = thread
        self._path = path
        self._viewer = {"everything": viewer.everything, "groups": _json(sorted(set(viewer.groups)))}

    async def find(self, text: str, kind: str = "", *, limit: int, offset: int = 0) -> list[SeenEntity]:
        words = [f'"{word}"' for word in key(text).split()]
        if text.strip() and not words:
            return []
        page = {"kind": kind, "limit": limit, "offset": offset}
        return await self._entities(_SEARCH if words else _ALL, text=f"{' '.join(words)}*", **page)

    async def at(self, passages: Collection[str], kind: str = "", *, limit: int, offset: int = 0) -> list[SeenEntity]:
        return await self._entities(_AT, keys=_json(list(passages)), kind=kind, limit=limit, offset=offset)

    async def named(self, keys: Collection[str]) -> list[SeenEntity]:
        return await self._entities(_NAMED, keys=_json(list(keys)), kind="", limit=len(keys), offset=0)

    async def relations(self, entity: str, *, limit: int, offset: int = 0) -> list[SourcedRelation]:
        return await self._relations(_OF_ENTITY, [entity], limit, offset)

    async def between(self, entities: Collection[str], *, limit: int) -> list[SourcedRelation]:
        return await self._relations(_BETWEEN, list(entities), limit, 0)

    async def passages_of(self, entity: str, *, limit: int) -> list[LinkedPassage]:
        return _passages(await self._rows(_PASSAGES_OF, entity=entity, limit=limit))

    async def stating(self, relations: Sequence[SourcedRelation], *, limit: int) -> list[list[LinkedPassage]]:
        found = []
        for (subject, _, target), sources in relations:
            ends = {"subject": subject, "target": target}
            found.append(_passages(await self._rows(_STATING, sources=_json(sources), limit=limit, **ends)))
        return found

    async def _entities(self, statement: str, **parameters: object) -> list[SeenEntity]:
        rows = await self._rows(statement, **parameters)
        return [SeenEntity(Entity(*named), passages) for *named, passages in rows]

    async def _relations(self, statement: str, keys: list[str], limit: int, offset: int) -> list[SourcedRelation]:
        rows = await self._rows(statement, keys=_json(keys), limit=limit, offset=offset)
        return [SourcedRelation(Relation(*ends), tuple(sorted(orjson.loads(sources)))) for *ends, sources in rows]

    async def _rows(self, statement: str, **parameters: object) -> list[Any]:
        def read() -> list[Any]:
            if not self._thread.connected:
                self._thread.connect(self._path)
            return self._thread.rows(statement, {**parameters, **self._viewer})

        return await self._thread.run(read)


def _passages(rows: Sequence[Sequence[str]]) -> list[LinkedPassage]:
    return [LinkedPassage(passage, source, tuple(words.split(" "))) for passage, source, words in rows]


def _json(value: Sequence[str]) -> str:
    return orjson.dumps(value).decode()
