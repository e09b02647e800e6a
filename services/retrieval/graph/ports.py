"""The words of the graph, and the role its stores play."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

EntityKind = Literal["concept", "technology", "person", "organization", "framework", "pattern", "other"]
RelationKind = Literal["uses", "depends_on", "extends", "implements", "part_of", "related_to"]


@dataclass(frozen=True, slots=True)
class Entity:
    """Something with a name; `key` is the name as it is compared (`names.key`), the same in every document."""

    key: str
    name: str
    kind: EntityKind = "other"


class Definition(NamedTuple):
    """A passage says what an entity is; `weight` in (0, 1] is how surely (a title 1, a term in passing less)."""

    passage: str
    entity: str
    weight: float


class Relation(NamedTuple):
    """What the subject of a document has to do with an entity it mentions; both are keys."""

    subject: str
    kind: RelationKind
    target: str


@dataclass(frozen=True, slots=True)
class PassageWords:
    """A passage's id and its words, in order, as names are compared."""

    passage: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """What one document adds: the names it defines and the texts that may mention any name.

    `subject` is the key of what the document is about, empty when its title is no name. `own` are the keys by which
    it speaks of its subject: they are not mentions of something else. `relations` are stated between entities that it
    defines, beside those that follow from its subject and what it mentions.
    """

    entities: tuple[Entity, ...] = ()
    definitions: tuple[Definition, ...] = ()
    texts: tuple[PassageWords, ...] = ()
    subject: str = ""
    own: frozenset[str] = frozenset()
    collection: str = ""
    relations: tuple[Relation, ...] = ()


class Edge(NamedTuple):
    """Between a passage (its id) and an entity (its key); `weight` 0: it mentions it, else how surely it defines it."""

    passage: str
    entity: str
    weight: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A part of the graph; `mentioned` says of each entity in how many passages of the whole graph it is mentioned."""

    edges: tuple[Edge, ...] = ()
    mentioned: dict[str, int] = field(default_factory=dict)

    @property
    def passages(self) -> set[str]:
        return {edge.passage for edge in self.edges}


class Counts(NamedTuple):
    """How much there is in a graph, or of one source in it."""

    entities: int
    relations: int
    passages: int
    mentions: int


class Graph(Protocol):
    """Keeps the graph. Every method raises `UnavailableError` when the store is away.

    Mentions are found by the store itself, because they join what is put in with what is there, in both directions:
    the names known so far in the new texts, and the new names in the texts of before. The order in which documents
    arrive does not matter.
    """

    async def open(self) -> None:
        """Make the graph ready, creating what it needs.

        Raises:
            ConfigurationError: a library, a right or a password is missing.
        """

    async def close(self) -> None: ...

    async def put(self, source: str, graphlet: DocumentGraph) -> Counts:
        """Make this all that comes from the source, in place of what did, in one step; gives what comes from it now.

        Doing it again changes nothing. A name that no document defines any more is gone with all that led to it.
        """

    async def remove(self, source: str) -> bool:
        """Forget all that comes from the source; whether there was anything."""

    async def entities_named(self, names: Collection[str]) -> list[Entity]:
        """The entities whose keys are among the names."""

    async def neighbourhood(
        self,
        entities: Collection[str],
        passages: Collection[str],
        *,
        hops: int = 2,
        degree: int = 6,
        collections: Sequence[str] = (),
    ) -> Neighbourhood:
        """All edges on the paths of up to `hops` edges from the passages, and from those that define the entities.

        At most `degree` edges of a kind are followed from any node. `collections` names those whose passages count;
        empty: all.
        """

    async def relations(self, entity: str, *, limit: int = 50) -> list[Relation]:
        """What the entity has to do with others, as subject or target, related_to last."""

    async def related(self, entity: str, *, limit: int = 50) -> list[str]:
        """The keys of the entities one or two relations away, each once, without itself, in alphabetical order."""

    async def search(self, text: str, *, limit: int = 10) -> list[Entity]:
        """The entities whose names share words with the text, best first."""

    async def counts(self) -> Counts: ...
