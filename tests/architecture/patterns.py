"""The program's regular expressions: where they are, and texts on which they would be slow if they were not linear."""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from tests.architecture.source import Module, modules

_FUNCTIONS = frozenset(("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"))
_ANCHORED = frozenset(("match", "fullmatch"))
_METHODS = _FUNCTIONS - {"compile"} | {"scanner"}
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
#: Repeats up to this many times count as constant time.
_BOUNDED = 256
_CATEGORIES: Mapping[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    op.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}
_USUAL = "a0 \n-.,:Zé<('_\u4e00\u0301\"*"
#: Texts grow to this length; the limit applies to it.
LONGEST = 4096
_LADDER = (12, 16, 20, 24, 28, 32, 40, 48, 64, 128, 256, 512, LONGEST)
#: A pattern may take this many times as long as the plain search that is the unit of speed.
FACTOR = 40
_GROWTH = 8


@dataclass(frozen=True)
class Place:
    """A regular expression and where it is written; `anchored` when it is applied at given places only."""

    name: str
    pattern: re.Pattern[Any]
    anchored: bool


@dataclass(frozen=True)
class Computed:
    """A call whose pattern depends on values of the function around it: `module:function`."""

    name: str


def inventory() -> Iterator[Place | Computed]:
    """Every regular expression of the program: of module-level objects, and of calls in functions."""
    for module in modules():
        assert not any(name.startswith("re.") for name in module.imports), f"{module.path}: write `import re`"
        if "re" not in module.imports:
            continue
        loaded = importlib.import_module(module.dotted)
        uses = _uses(module)
        for name, pattern in _patterns_in(vars(loaded)):
            yield Place(f"{module.dotted}:{name}", pattern, bool(uses.get(name)) and uses[name] <= _ANCHORED)
        for function, call in _calls(module):
            try:
                pattern = _compiled(call, vars(loaded))
            except NameError:
                yield Computed(f"{module.dotted}:{function}")
                continue
            assert isinstance(call.func, ast.Attribute)
            yield Place(f"{module.dotted}:{function} {pattern.pattern!r}", pattern, call.func.attr in _ANCHORED)


def _patterns_in(values: Mapping[str, Any]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The patterns of a namespace, also those inside containers (`NAME`)."""
    for name, value in values.items():
        for pattern in _unpacked(value):
            yield name, pattern


def _unpacked(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, (dict, list, tuple, set, frozenset)):
        for one in [*value.values()] if isinstance(value, dict) else [*value]:
            yield from _unpacked(one, depth - 1)


def _uses(module: Module) -> dict[str, set[str]]:
    """The methods that are called on each name; a name that is used otherwise has the use ``."""
    uses: dict[str, set[str]] = {}
    methods: dict[ast.AST, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _METHODS:
            methods[node.value] = node.attr
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses.setdefault(node.id, set()).add(methods.get(node, ""))
    return uses


def _calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    """Calls of `re` inside functions, with the function's name; those outside give module-level objects."""
    for function in module.functions():
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in _FUNCTIONS and isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                yield function.name, node


def _compiled(call: ast.Call, namespace: dict[str, Any]) -> re.Pattern[Any]:
    assert isinstance(call.func, ast.Attribute)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)
    flags = given.get("flags") or (call.args[place] if len(call.args) > place else ast.Constant(0))
    pattern, value = (eval(ast.unparse(one), dict(namespace)) for one in (call.args[0], flags))
    return re.compile(pattern, value)


# --- hostile texts ---


def hostile_texts(pattern: re.Pattern[Any]) -> Iterator[Callable[[int], str]]:
    """Functions from a length to a text: what precedes a repeat, the repeat pumped up, and an end that fails."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    alphabet = _alphabet(tree)
    seen = set()
    for before, body in _repeats(tree, ""):
        samples = _samples(body, alphabet)
        for pump in filter(None, dict.fromkeys([*samples, before, *(before + one for one in samples[:2])])):
            for prefix in dict.fromkeys(("", before, f"a {before}")):
                for suffix in ("", "\x00", "\n!x"):
                    if (prefix, pump, suffix) not in seen:
                        seen.add((prefix, pump, suffix))
                        yield _pumped(prefix, pump, suffix)


def _pumped(prefix: str, pump: str, suffix: str) -> Callable[[int], str]:
    return lambda length: prefix + pump * (length // len(pump)) + suffix


def _repeats(tree: Iterable[Any], before: str) -> Iterator[tuple[str, Any]]:
    """Every repeat without a small bound: a text that leads to it, and its body."""
    for code, value in tree:
        if code in _REPEATS:
            _, most, body = value
            if most is op.MAXREPEAT or most > _BOUNDED:
                yield before, body
            yield from _repeats(body, before)
        else:
            for inner in _inner(code, value):
                yield from _repeats(inner, before)
        before += _sample([(code, value)], "")


def _inner(code: Any, value: Any) -> list[Any]:
    if code is op.SUBPATTERN:
        return [value[3]]
    if code is op.BRANCH:
        return list(value[1])
    if code is op.ATOMIC_GROUP:
        return [value]
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    if code is op.GROUPREF_EXISTS:
        return [one for one in value[1:] if one is not None]
    return []


def _alphabet(tree: Iterable[Any]) -> str:
    """Characters that the pattern tells apart, and usual ones."""
    found: list[str] = []
    todo = list(tree)
    while todo:
        code, value = todo.pop()
        if code in (op.LITERAL, op.NOT_LITERAL):
            found.append(chr(value))
        elif code is op.IN:
            todo.extend(value)
        elif code is op.RANGE:
            found.extend(map(chr, value))
        elif code in _REPEATS:
            todo.extend(value[2])
        else:
            for inner in _inner(code, value):
                todo.extend(inner)
    return "".join(dict.fromkeys([*_USUAL, *found[:60]]))


def _samples(body: Any, alphabet: str) -> list[str]:
    """Texts that the body of a repeat matches: all fitting characters for a single one, else a text for each."""
    if len(body) == 1 and body[0][0] in (op.IN, op.LITERAL, op.NOT_LITERAL, op.ANY):
        return [char for char in alphabet if _fits(body[0], char)] or [_sample(body, "")]
    return list(dict.fromkeys(_sample(body, char) for char in ("", *alphabet)))[:16]


def _sample(tree: Iterable[Any], liked: str) -> str:
    """A text that the tree matches (assertions aside), with the character `liked` where it fits."""
    text = ""
    for code, value in tree:
        if code in _REPEATS:
            count = max(value[0], 1 if value[1] else 0)
            text += _sample(value[2], liked) * min(count, 40)
        elif code in (op.IN, op.LITERAL, op.NOT_LITERAL, op.ANY):
            text += next(char for char in chain(liked, _candidates(code, value)) if _fits((code, value), char))
        elif code is op.BRANCH:
            options = [_sample(one, liked) for one in value[1]]
            text += next((one for one in options if liked and liked in one), options[0])
        elif code in (op.SUBPATTERN, op.ATOMIC_GROUP):
            text += _sample(_inner(code, value)[0], liked)
    return text


def _candidates(code: Any, value: Any) -> Iterator[str]:
    if code is op.LITERAL:
        yield chr(value)
    elif code is op.IN:
        for kind, one in value:
            if kind is op.LITERAL:
                yield chr(one)
            elif kind is op.RANGE:
                yield chr(one[0])
    yield from _USUAL
    yield from map(chr, range(1, 0x3000))


def _fits(node: tuple[Any, Any], char: str) -> bool:
    code, value = node
    if code is op.LITERAL:
        return bool(ord(char) == value)
    if code is op.NOT_LITERAL:
        return bool(ord(char) != value)
    if code is op.ANY:
        return char != "\n"
    negated = value[0][0] is op.NEGATE
    return negated != any(_is_one_of(one, char) for one in value)


def _is_one_of(item: tuple[Any, Any], char: str) -> bool:
    kind, value = item
    if kind is op.LITERAL:
        return bool(ord(char) == value)
    if kind is op.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    return kind is op.CATEGORY and _CATEGORIES[value](char)


# --- time ---


def apply(place: Place, text: str) -> None:
    """Search the whole text, or match at its beginning, as the program does."""
    given: Any = text if isinstance(place.pattern.pattern, str) else text.encode("latin-1", "replace")
    if place.anchored:
        place.pattern.match(given)
        place.pattern.fullmatch(given)
    else:
        for _ in place.pattern.finditer(given):
            pass


def seconds(place: Place, text: str, tries: int = 1) -> float:
    """The least processor time of this thread, so that other processes do not count."""
    best = float("inf")
    for _ in range(tries):
        began = time.thread_time()
        apply(place, text)
        best = min(best, time.thread_time() - began)
    return best


@cache
def unit() -> float:
    """The unit of speed: what a plain search in a text of the longest length takes on this machine."""
    plain = Place("unit", re.compile(r"[b-y]*[a-z]!"), anchored=False)
    return seconds(plain, "a" * LONGEST, tries=20)


def slow_text(place: Place) -> str:
    """The beginning of a hostile text for which the time grows faster than its length; empty when there is none."""
    limit = FACTOR * unit()
    for hostile in hostile_texts(place.pattern):
        for length in _LADDER:
            if seconds(place, hostile(length)) <= limit or seconds(place, hostile(length), tries=3) <= limit:
                continue
            if length < 512 or _grows(place, hostile, length):
                return hostile(16)
            break
    return ""


def _grows(place: Place, hostile: Callable[[int], str], length: int) -> bool:
    """Whether four times the text takes clearly more than four times as long."""
    return seconds(place, hostile(4 * length), tries=2) > _GROWTH * seconds(place, hostile(length), tries=3)
