"""Extracts the graph of one document by rules: its entities, their kinds, and the passages that define them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from services.retrieval.graph.cue_words import WORDS
from services.retrieval.graph.document_links import entity_of, link_words, own_addresses
from services.retrieval.graph.kinds import kind_of
from services.retrieval.graph.names import is_function_word, is_name, key
from services.retrieval.graph.ports import Definition, DocumentGraph, Entity, PassageWords
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument
from shared.language.analysis import words
from shared.language.packs import either, once, phrase

#: Version of the rules: changes when the same passages would give another graph, so that documents are re-indexed.
EXTRACTION = "graph-3"

_TITLE, _ALIAS, _HEADING, _TERM = 1.0, 1.0, 0.6, 0.2
_JOINT = " — "

_WORDS = tuple(WORDS.values())
_INSIDE = re.compile(r"[^()]{1,60}")
_ACRONYM = re.compile(r" \((?P<short>[A-Z][A-Z0-9&-]{1,9}s?)\)")
#: The words before an acronym, in the reversed text: searched backwards from the rare `(`, each character is read once.
_WORDS_BEFORE = re.compile(r"[\w'’&-]++(?: [\w'’&-]++){0,7}+")
_LETTER = re.compile(r"\b[^\W\d_]")
_KNOWN_AS = re.compile(rf"\b{either(once(cues.known_as for cues in _WORDS))} ")
_NAMED = re.compile(
    r"[\"“«]?\s*(?P<name>(?:[A-Z0-9][\w'’&.-]*)"
    rf"(?: (?:{phrase(cues.name_joints for cues in _WORDS)} )?[A-Z0-9][\w'’&.-]*){{0,5}})"
)
#: A definition is searched from its rarest part, `is a`, back to the beginning of its sentence.
_IS_A = re.compile(
    rf" {phrase(cues.defining_copulas for cues in _WORDS)} {either(once(cues.defining_predicates for cues in _WORDS))} "
)
_BEGINNING = re.compile(r"[.!?]\s+|\n")
_DEFINED = re.compile(rf"{either(once(cues.articles for cues in _WORDS))}?(?P<name>[^\W\d_][\w-]*(?: [\w-]+){{0,4}})")
#: Maximum length of a name.
_NAME_CHARS = 200
#: Words that an acronym of at most ten letters may abbreviate, small words included.
_LONG_FORM_WORDS = 24


def extract(
    document: IndexedDocument, passages: Sequence[Passage], links: Mapping[str, Sequence[str]] | None = None
) -> DocumentGraph:
    """Extract the graph of a document from its passages, in order; `links` maps a passage id to its link targets."""
    if not passages:
        return DocumentGraph(collection=document.collection, version=document.version, groups=document.groups)
    collector = _EntityCollector()
    first = passages[0]
    opening = first.text[:300]
    for name in _names_of(document.title):
        collector.define(name, first.id, _TITLE, opening)
    for name in (*_known_as(opening), *_address(document.url)):
        collector.define(name, first.id, _ALIAS, opening)
    subject = key(document.title)
    subject = subject if subject in collector.entities else next(iter(collector.entities), "")
    for address in own_addresses(document):
        collector.put(entity_of(address), first.id, _TITLE)
    own = frozenset(collector.entities)
    headed: set[str] = set()
    for passage in passages:
        heading = _heading(passage.title, document.title)
        if heading and heading not in headed:
            headed.add(heading)
            collector.define(heading, passage.id, _HEADING, passage.text[:300])
        for name in _terms(passage.text):
            collector.define(name, passage.id, _TERM, "")
    return DocumentGraph(
        entities=tuple(collector.entities.values()),
        definitions=tuple(Definition(*ends, weight) for ends, weight in collector.definitions.items()),
        texts=tuple(
            PassageWords(passage.id, (*words(passage.text), *link_words(document, (links or {}).get(passage.id, ()))))
            for passage in passages
        ),
        subject=subject,
        own=own,
        collection=document.collection,
        groups=document.groups,
        version=document.version,
    )


class _EntityCollector:
    """Collects entities and definitions: the first spelling, and the highest weight per passage, count."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.definitions: dict[tuple[str, str], float] = {}

    def define(self, name: str, passage: str, weight: float, context: str) -> None:
        name = name.strip(" .,;:–-")
        compared = key(name)
        if is_name(name, compared):
            known = self.entities.get(compared)
            self.put(known or Entity(compared, name, kind_of(name, context)), passage, weight)

    def put(self, entity: Entity, passage: str, weight: float) -> None:
        self.entities.setdefault(entity.key, entity)
        ends = (passage, entity.key)
        self.definitions[ends] = max(weight, self.definitions.get(ends, 0.0))


def _names_of(title: str) -> Iterator[str]:
    """The names in a title: `Blue Train (album)` also gives `Blue Train`, `Application Interface (API)` also `API`."""
    yield title
    name, _, inside = title.rstrip().removesuffix(")").rpartition("(")
    name = name.rstrip()
    if name and title.rstrip().endswith(")") and _INSIDE.fullmatch(inside):
        yield name
        if _abbreviates(inside, name) or _abbreviates(name, inside):
            yield inside


def _known_as(text: str) -> Iterator[str]:
    for cue in _KNOWN_AS.finditer(text):
        named = _NAMED.match(text, cue.end())
        if named:
            yield named["name"]


def _address(url: str) -> Iterator[str]:
    """The document's URL without its scheme, so that a text with the URL mentions the document."""
    if url:
        yield re.sub(r"^\w+://(?:www\.)?", "", url)


def _heading(passage_title: str, title: str) -> str:
    """The innermost heading of the passage; empty if it is the document's own title."""
    last = passage_title.rpartition(_JOINT)[2]
    return "" if last == title or not passage_title.startswith(title) or passage_title == title else last


def _terms(text: str) -> Iterator[str]:
    """Terms that the text defines: `A cache is a …`, `content delivery network (CDN)`."""
    for name in _defined(text):
        if not is_function_word(name.partition(" ")[0].casefold()):
            yield name
    if "(" in text:
        for before, short in _acronyms(text):
            long = _long_form(before, short)
            if long:
                yield long
                yield short


def _acronyms(text: str) -> Iterator[tuple[str, str]]:
    """Every acronym in brackets, with the up to eight words before it."""
    after = 0
    for acronym in _ACRONYM.finditer(text):
        before = _WORDS_BEFORE.match(text[after : acronym.start()][::-1])
        after = acronym.end()
        long = before[0][::-1] if before else ""
        first = _LETTER.search(long)
        if first and not {" ", "-"}.isdisjoint(long[first.start() :][1:-1]):  # a single word is not a long form
            yield long[first.start() :], acronym["short"]


def _defined(text: str) -> Iterator[str]:
    """The text between the beginning of a sentence and its `is a`, without an article."""
    after = 0
    for verb in _IS_A.finditer(text):
        near = max(after, verb.start() - _NAME_CHARS)
        begins = [found.end() for found in _BEGINNING.finditer(text, near, verb.start())]
        if not begins and near:
            continue
        defined = _DEFINED.fullmatch(text, begins[-1] if begins else 0, verb.start())
        if defined:
            after = verb.end()
            yield defined["name"]


def _long_form(before: str, short: str) -> str:
    """The last words of `before` that the acronym abbreviates; empty when it abbreviates none of them."""
    parts = before.replace("-", " ").split(" ")[-_LONG_FORM_WORDS:]
    for count in range(len(parts), 1, -1):
        if _abbreviates(short, " ".join(parts[-count:])) and parts[-count][:1].casefold() == short[0].casefold():
            return " ".join(parts[-count:])
    return ""


def _abbreviates(short: str, long: str) -> bool:
    """Whether the capitals of `short` are the initials of `long`, with or without its small words."""
    letters = short.rstrip("s")
    if not 2 <= len(letters) <= 10 or not letters.isupper():
        return False
    parts = [word for word in re.split(r"[\s-]+", long) if word]
    initials = "".join(word[0] for word in parts).upper()
    without_small = "".join(word[0] for word in parts if len(word) > 3 or word[0].isupper()).upper()
    return letters.replace("-", "").replace("&", "") in (initials, without_small)
