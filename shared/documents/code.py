"""Reader of source code: each definition is a section, so that a passage is a function or class with its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from shared.documents.decode import decode
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument

_NAME = r"(?P<name>[A-Za-z_$][\w$.:<>~]*)"
_MODIFIER = (
    r"export|default|public|private|protected|internal|static|abstract|final|sealed|async|pub(?:\([^)]*\))?|unsafe|open|"
    r"override|partial|const|extern|inline|virtual|data|suspend"
)
_KEYWORD = (
    r"def|class|interface|struct|enum|trait|impl|func|function|fn|fun|module|namespace|type|record|object|protocol|"
    r"extension|sub|package|union|macro_rules!|CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW|FUNCTION|PROCEDURE)"
)
#: The first line of a definition: a keyword before the name, or a function as the value.
_DEFINITION = re.compile(
    rf"(?P<indent>[ ]*)(?:(?:{_MODIFIER})\s+)*(?:"
    rf"(?:{_KEYWORD})(?:\s*+(?:\*|<[^>]*>|\([^)]*\)))?\s++{_NAME}"
    r"|(?:const|let|var)\s+(?P<value>[A-Za-z_$][\w$]*)\s*=\s*(?:async\s*)?(?:function|\([^)]*\)\s*=>|\w+\s*=>)"
    r")",
    re.IGNORECASE,
)
#: A definition in C-like languages: type, name, arguments, and a brace at the end of the line.
_TYPED = re.compile(r"(?P<indent>[ ]*)[A-Za-z_][^(){};=]*[\s*&](?P<name>[A-Za-z_~][\w:~]*)\s*\(.*\{$")
_NOT_NAMES = frozenset(
    ["if", "for", "while", "switch", "return", "else", "catch", "do", "try", "new", "with", "select"]
)
#: Lines above a definition that belong to it: comments, decorators, attributes.
_ABOVE = re.compile(r"^\s*(?:#|//|/\*|\*|@\w|\[\w|--|;;|<!--)")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;;|<!--)")
#: Maximum depth of sections; deeper definitions are part of theirs.
_DEEPEST = 2
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class _Definition:
    """Its first line (including comments and decorators above), its depth, and its name."""

    line: int
    depth: int
    name: str


def read_code(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read source code of any usual language; code outside of definitions has no heading."""
    lines = decode(body).expandtabs(4).split("\n")
    builder = DocumentBuilder(len(body), limits, head=_first_comment(lines))
    begin = 0
    for definition in [*_definitions(lines), None]:
        end = definition.line if definition else len(lines)
        builder.add("code", "\n".join(lines[begin:end]))
        if definition:
            builder.enter(definition.depth, definition.name)
            begin = end
    return builder.finish()


def _first_comment(lines: list[str]) -> str:
    """The comment at the beginning; a declaration of access in the code itself is about something else."""
    return "\n".join(takewhile(lambda line: not line.strip() or _COMMENT.match(line), lines)) or "\n"


def _definitions(lines: list[str]) -> list[_Definition]:
    found: list[_Definition] = []
    indents: list[int] = []
    for number, line in enumerate(lines):
        named = _named(line)
        if named is None:
            continue
        indent, name = named
        while indents and indents[-1] >= indent:
            indents.pop()
        if len(indents) >= _DEEPEST:
            continue
        indents.append(indent)
        lowest = found[-1].line + 1 if found else 0
        found.append(_Definition(_with_preamble(lines, number, lowest), len(indents), name.rstrip(":.<")))
    return found


def _named(line: str) -> tuple[int, str] | None:
    """The indent and the name if the line begins a definition."""
    line = line.rstrip()
    if len(line) > _LONGEST:
        return None
    match = _DEFINITION.match(line)
    name = (match["name"] or match["value"]) if match else ""
    if match is None and line.endswith("{") and "(" in line:
        match = _TYPED.match(line)
        name = match["name"] if match else ""
    if match is None or line.split(maxsplit=1)[0].strip("({").lower() in _NOT_NAMES or name.lower() in _NOT_NAMES:
        return None
    return len(match["indent"]), name


def _with_preamble(lines: list[str], number: int, lowest: int) -> int:
    while number > lowest and _ABOVE.match(lines[number - 1]):
        number -= 1
    return number
