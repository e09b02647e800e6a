"""What retrieval replies to requests for its graph: entities, their relations, and the passages that prove these."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from services.retrieval.graph.kinds import relation_of
from services.retrieval.graph.names import NameIndex, first_mentions
from services.retrieval.graph.ports import (
    Graph,
    GraphBrowser,
    LinkedPassage,
    Relation,
    SeenEntity,
    SourcedRelation,
)
from services.retrieval.indexing.document_indexer import DocumentIndexer
from services.retrieval.ports import PassageStore
from services.retrieval.reach import Reach
from shared.contracts.document_access import DocumentViewer
from shared.contracts.domain import Passage
from shared.contracts.errors import NotFoundError
from shared.contracts.requests.retrieval import (
    GraphEntitiesReply,
    GraphEntitiesRequest,
    GraphEntity,
    GraphEntityReply,
    GraphEntityRequest,
    GraphPassage,
    GraphRelation,
)

#: The passages of a document with the entities that are reported.
MOST_PASSAGES = 2000
#: Relations between the entities of a page, and documents that are named for each.
MOST_RELATIONS, MOST_SOURCES = 500, 10
#: Passages that are shown for an entity and for a relation, and those among which the latter are chosen.
OF_ENTITY, OF_RELATION, CANDIDATES = 3, 2, 12
#: Characters of a passage that are shown, and how many of them are before the name.
EXCERPT, BEFORE = 700, 250


class GraphHandler:
    """Answers requests for the graph, with what the viewer of each request may see."""

    def __init__(self, graph: Graph, indexer: DocumentIndexer, passages: PassageStore) -> None:
        self._graph = graph
        self._indexer = indexer
        self._passages = passages

    async def entities(self, request: GraphEntitiesRequest) -> GraphEntitiesReply:
        """Answers `ask.retrieval.graph_entities`.

        Raises:
            NotFoundError: the document is not indexed, or the viewer may not read it.
            UnavailableError: the graph or the index is unavailable.
        """
        browser = self._graph.browser(request.viewer)
        found = await self._found(browser, request)
        page = found[: request.limit]
        relations = await browser.between([entry.entity.key for entry in page], limit=MOST_RELATIONS) if page else []
        return GraphEntitiesReply(
            entities=tuple(map(_entity, page)),
            relations=tuple(map(_relation, relations)),
            after=request.after + len(page) if len(found) > len(page) else 0,
        )

    async def entity(self, request: GraphEntityRequest) -> GraphEntityReply:
        """Answers `ask.retrieval.graph_entity`.

        Raises:
            NotFoundError: the entity does not exist, or the viewer may read nothing of it.
            UnavailableError: the graph or the index is unavailable.
        """
        browser = self._graph.browser(request.viewer)
        known = await browser.named([request.id])
        if not known:
            raise NotFoundError(f"there is no entity {request.id[:200]!r}; send an id of GET /api/v1/graph/entities")
        found = await _relations(browser, request)
        relations = found[: request.limit]
        stated = await browser.stating(relations, limit=CANDIDATES)
        proofs = await asyncio.to_thread(_proofs, relations, stated)
        about = await browser.passages_of(request.id, limit=OF_ENTITY)
        ends = {end for relation in relations for end in (relation.relation.subject, relation.relation.target)} - {
            request.id
        }
        others = await browser.named(sorted(ends)) if ends else []
        names = {other.entity.key: other.entity.name for other in (*known, *others)}
        texts = await self._texts([*about, *(proof for chosen in proofs for proof in chosen)], request.viewer)
        return GraphEntityReply(
            entity=_entity(known[0]),
            passages=_excerpts(about, texts, [names[request.id]]),
            relations=tuple(
                _relation(sourced, _excerpts(chosen, texts, _ends(sourced.relation, names)))
                for sourced, chosen in zip(relations, proofs, strict=True)
            ),
            entities=tuple(map(_entity, others)),
            after=request.after + len(relations) if len(found) > len(relations) else 0,
        )

    async def _found(self, browser: GraphBrowser, request: GraphEntitiesRequest) -> list[SeenEntity]:
        """The entities that are asked for: one more than the limit where there are more."""
        limit, offset = request.limit + 1, request.after
        if request.source:
            passages = await self._indexer.passage_ids(request.source, Reach(request.viewer))
            if passages is None:
                raise NotFoundError(f"source: {request.source} is not indexed; send one of GET /api/v1/documents")
            return await browser.at(passages[:MOST_PASSAGES], request.kind, limit=limit, offset=offset)
        if request.passages is not None:
            return await browser.at(request.passages, request.kind, limit=limit, offset=offset)
        return await browser.find(request.text, request.kind, limit=limit, offset=offset)

    async def _texts(self, linked: Iterable[LinkedPassage], viewer: DocumentViewer) -> dict[str, Passage]:
        """The passages by id. One that the graph has and the index has not any more is missing."""
        ids = sorted({mention.passage for mention in linked})
        return {passage.id: passage for passage in await self._passages.fetch(ids, Reach(viewer))} if ids else {}


async def _relations(browser: GraphBrowser, request: GraphEntityRequest) -> list[SourcedRelation]:
    """The relations of the entity, or those to another one: one more than the limit where there are more."""
    if not request.other:
        return await browser.relations(request.id, limit=request.limit + 1, offset=request.after)
    both = await browser.between([request.id, request.other], limit=MOST_RELATIONS)
    joining = [
        sourced
        for sourced in both
        if {sourced.relation.subject, sourced.relation.target} == {request.id, request.other}
    ]
    return joining[request.after :]


def _entity(seen: SeenEntity) -> GraphEntity:
    key, name, kind = seen.entity.key, seen.entity.name, seen.entity.kind
    return GraphEntity(id=key, name=name, kind=kind, passages=seen.passages)


def _relation(sourced: SourcedRelation, passages: tuple[GraphPassage, ...] = ()) -> GraphRelation:
    subject, kind, target = sourced.relation
    sources = sourced.sources[:MOST_SOURCES]
    return GraphRelation(
        subject=subject, kind=kind, target=target, sources=sources, stated=len(sourced.sources), passages=passages
    )


def _proofs(
    relations: Sequence[SourcedRelation], stated: Sequence[Sequence[LinkedPassage]]
) -> list[list[LinkedPassage]]:
    """For each relation the passages that prove it, of those that may state it."""
    return [_proving(sourced.relation, candidates) for sourced, candidates in zip(relations, stated, strict=True)]


def _proving(relation: Relation, candidates: Sequence[LinkedPassage]) -> list[LinkedPassage]:
    """The passages that state the relation with its own words, else the first ones that name its target."""
    index = NameIndex((relation.target,))

    def states(linked_passage: LinkedPassage) -> bool:
        start = first_mentions(index, linked_passage.words).get(relation.target)
        return start is not None and relation_of(linked_passage.words, start) == relation.kind

    return ([candidate for candidate in candidates if states(candidate)] or list(candidates))[:OF_RELATION]


def _ends(relation: Relation, names: dict[str, str]) -> list[str]:
    """The names of the target and of the subject, as far as they are known."""
    return [names[key] for key in (relation.target, relation.subject) if key in names]


def _excerpts(
    linked: Sequence[LinkedPassage], texts: dict[str, Passage], names: Sequence[str]
) -> tuple[GraphPassage, ...]:
    found = (texts[mention.passage] for mention in linked if mention.passage in texts)
    return tuple(
        GraphPassage(
            id=passage.id,
            source=passage.source,
            title=passage.title,
            url=passage.url,
            text=_excerpt(passage.text, names),
        )
        for passage in found
    )


def _excerpt(text: str, names: Sequence[str]) -> str:
    """The part of the text around the first of the names that it has; its beginning if it has no name."""
    if len(text) <= EXCERPT:
        return text
    # Where letters change their number in lower case, the part is a few characters off.
    places = (text.lower().find(name.lower()) for name in names)
    start = next((place for place in places if place >= 0), 0)
    first = max(0, min(start - BEFORE, len(text) - EXCERPT))
    before, after = "… " if first else "", " …" if first + EXCERPT < len(text) else ""
    return f"{before}{text[first : first + EXCERPT].strip()}{after}"
