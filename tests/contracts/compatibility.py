"""What of two JSON schemas keeps a reader of one from reading what a writer of the other writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]
#: Bounds of a schema, and whether a reader with a larger one accepts more.
_BOUNDS = {
    "maximum": True,
    "exclusiveMaximum": True,
    "maxLength": True,
    "maxItems": True,
    "minimum": False,
    "exclusiveMinimum": False,
    "minLength": False,
    "minItems": False,
}
#: Keywords whose value a reader either has not, or has like the writer.
_EXACT = ("pattern", "format", "multipleOf")


@dataclass
class Reading:
    """`reader` and `writer` are whole documents with their `$defs`; a writer writes every property that it has."""

    reader: Schema
    writer: Schema
    _compared: set[tuple[str, str]] = field(default_factory=set)

    def faults(self, place: str) -> list[str]:
        """Why the reader refuses what the writer may write, each with its place; none: it reads everything."""
        return list(self._faults(self.reader, self.writer, place))

    def _faults(self, reads: Schema, writes: Schema, place: str) -> Iterator[str]:
        if "$ref" in reads and "$ref" in writes:
            names = (reads["$ref"], writes["$ref"])
            if names in self._compared:
                return
            self._compared.add(names)
        reads, writes = _resolved(reads, self.reader), _resolved(writes, self.writer)
        for one in _alternatives(writes):
            found = [list(self._one(other, one, place)) for other in _alternatives(reads)]
            if all(found):
                yield from min(found, key=len)

    def _one(self, reads: Schema, writes: Schema, place: str) -> Iterator[str]:
        """Of two schemas of which neither is a union."""
        if "$ref" in reads or "$ref" in writes:
            yield from self._faults(reads, writes, place)
            return
        if kinds := _kinds(writes) - _kinds(reads):
            yield f"{place}: {', '.join(sorted(kinds))} is not read, only {', '.join(sorted(_kinds(reads)))}"
            return
        allowed, written = _values(reads), _values(writes)
        if allowed is not None and (written is None or not written <= allowed):
            more = "any value" if written is None else ", ".join(sorted(map(repr, written - allowed)))
            yield f"{place}: {more} is not read"
        yield from _bounds(reads, writes, place)
        yield from self._object(reads, writes, place)
        for keyword in ("items", "additionalProperties"):
            if isinstance(reads.get(keyword), dict) and isinstance(writes.get(keyword), dict):
                yield from self._faults(reads[keyword], writes[keyword], f"{place}[]")

    def _object(self, reads: Schema, writes: Schema, place: str) -> Iterator[str]:
        given, wanted = writes.get("properties", {}), reads.get("properties", {})
        for name in reads.get("required", ()):
            if name not in given:
                yield f"{place}.{name}: is required and not written"
        if reads.get("additionalProperties") is False:
            for name in sorted(given.keys() - wanted.keys()):
                yield f"{place}.{name}: is unknown to the reader, which forbids that"
        for name in sorted(given.keys() & wanted.keys()):
            yield from self._faults(wanted[name], given[name], f"{place}.{name}")


def removed(before: Schema, after: Schema, place: str) -> set[str]:
    """The places of properties that the schema before has and the one after has not."""
    return _places(before, before, place, ()) - _places(after, after, place, ())


def _places(schema: Schema, document: Schema, place: str, within: tuple[str, ...]) -> set[str]:
    if schema.get("$ref") in within:
        return set()
    within = (*within, schema["$ref"]) if "$ref" in schema else within
    schema = _resolved(schema, document)
    found: set[str] = set()
    for one in _alternatives(schema):
        if one is not schema:
            found |= _places(one, document, place, within)
    for name, inner in schema.get("properties", {}).items():
        found |= {f"{place}.{name}"} | _places(inner, document, f"{place}.{name}", within)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            found |= _places(schema[keyword], document, f"{place}[]", within)
    return found


def _resolved(schema: Schema, document: Schema) -> Schema:
    while "$ref" in schema:
        schema = document["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _alternatives(schema: Schema) -> list[Schema]:
    return list(schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or [schema])


def _kinds(schema: Schema) -> set[str]:
    """Its types; a number is read where an integer is written, and everything where no type is named."""
    named = schema.get("type")
    if named is None and "enum" not in schema and "const" not in schema:
        return {"array", "boolean", "integer", "null", "number", "object", "string"}
    found = {named} if isinstance(named, str) else set(named or {"string"})
    return found | {"integer"} if "number" in found else found


def _values(schema: Schema) -> set[Any] | None:
    if "const" in schema:
        return {schema["const"]}
    return set(schema["enum"]) if "enum" in schema else None


def _bounds(reads: Schema, writes: Schema, place: str) -> Iterator[str]:
    for name, larger_is_more in _BOUNDS.items():
        if name not in reads:
            continue
        bound, other = reads[name], writes.get(name)
        if other is None or (other > bound if larger_is_more else other < bound):
            yield f"{place}: {name} {bound} is exceeded by {'anything' if other is None else other}"
    for name in _EXACT:
        if name in reads and reads[name] != writes.get(name):
            yield f"{place}: {name} {reads[name]} is not that of the writer ({writes.get(name)})"
