"""Reader of reStructuredText, also of Sphinx: parsed by docutils, which may open no file and no configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shared.contracts.errors import DocumentError
from shared.documents.declared_access import HEAD_CHARS, is_access_name
from shared.documents.decode import decode
from shared.documents.document_limits import DEFAULT_LIMITS, DocumentLimits
from shared.documents.front_matter import split_front_matter
from shared.documents.parsed_document import DocumentBuilder, ParsedDocument, squeeze
from shared.text.dates import first_day

if TYPE_CHECKING:
    from docutils import nodes

#: Nothing outside of the document is read, and no message is printed; docutils reports errors as nodes.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "traceback": True,  # an error is raised; else docutils ends the program
    "doctitle_xform": True,
    "sectsubtitle_xform": False,
    "docinfo_xform": True,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "embed_stylesheet": False,
    "line_length_limit": 1_000_000,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
    "rfc_references": True,
    "pep_references": True,
}
#: The header of a PEP, and of letters: `Name: value` lines up to the first blank one.
_HEADER_LINE = re.compile(r"([A-Z][\w-]{0,40}+):(?:[ \t]++(.*+))?+$")
#: Fields for programs, which tell a reader nothing.
_SILENT_FIELDS_WORDS = """
    orphan nocomments tocdepth nosearch no-search nav_order layout slug template tags hidden lang language url
    link title date updated modified lastmod last-modified published created description summary
"""
_SILENT_FIELDS = frozenset(_SILENT_FIELDS_WORDS.split())
#: Names of fields up to this long are initials (`PEP`).
_INITIALS = 3
_DATES = ("updated", "last-modified", "lastmod", "modified", "date", "published", "created")


def read_rst(body: bytes, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Read reStructuredText; field lists at the top give `title`, `date`, `lang`, `url`, `description` and
    `access_groups`.

    Raises:
        DocumentError: docutils cannot parse it.
    """
    from docutils.core import publish_doctree
    from docutils.utils import SystemMessage

    from shared.documents.rst_extensions import extensions_of
    from shared.documents.rst_nodes import NodeVisitor

    written = decode(body)
    front, text = split_front_matter(written)
    header, text = _header(text)
    try:
        with extensions_of(text):
            document = publish_doctree(text, settings_overrides={**_SETTINGS, "doctitle_xform": not header})
    except (SystemMessage, ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError) as error:
        raise DocumentError(
            f"this is not valid reStructuredText ({type(error).__name__}); submit it as plain text"
        ) from None
    fields = _docinfo(document) | header
    properties = (*((str(name), value) for name, value in front.items()), *fields.items(), *_metas(document))
    builder = DocumentBuilder(len(body), limits, properties=properties, head=written[:HEAD_CHARS])
    visitor = NodeVisitor(builder)
    visitor.read(document, _shown(fields))
    title = fields.get("title", "") or (document.get("title") or "")
    return visitor.builder.finish(
        title=title,
        url=fields.get("url", "") or fields.get("link", ""),
        language=fields.get("lang", "") or fields.get("language", ""),
        date=first_day(fields.get(name, "") for name in _DATES),
        description=fields.get("description", "") or fields.get("summary", ""),
    )


def _header(text: str) -> tuple[dict[str, str], str]:
    """The header of a PEP and the text behind it; continued lines are indented."""
    fields: dict[str, str] = {}
    name = ""
    lines = text.lstrip("\n").split("\n")
    for number, line in enumerate(lines):
        found = _HEADER_LINE.match(line)
        if found:
            name = found[1].lower()
            fields[name] = (found[2] or "").strip()
        elif name and line[:1] in (" ", "\t") and line.strip():
            fields[name] = f"{fields[name]} {line.strip()}"
        else:
            whole = not line.strip() and len(fields) > 1 and "title" in fields
            return (fields, "\n".join(lines[number:])) if whole else ({}, text)
    return {}, text


def _docinfo(document: nodes.document) -> dict[str, str]:
    """The field list at the top of the document."""
    from docutils import nodes

    fields: dict[str, str] = {}
    for docinfo in document.findall(nodes.docinfo):
        for node in docinfo.children:
            if isinstance(node, nodes.field):
                name, value = node.children[0].astext(), node.children[1].astext()
            elif isinstance(node, nodes.authors):
                name, value = "authors", ", ".join(author.astext() for author in node.children)
            else:
                name, value = type(node).__name__, node.astext()
            fields.setdefault(squeeze(name).lower(), squeeze(value))
    return fields


def _metas(document: nodes.document) -> list[tuple[str, str]]:
    """Names and contents of the directive `meta`."""
    from docutils import nodes

    metas = document.findall(nodes.meta)
    return [(name, meta.get("content", "")) for meta in metas if (name := meta.get("name") or meta.get("http-equiv"))]


def _shown(fields: dict[str, str]) -> list[str]:
    """Who wrote it, its version, its status: what a document's metadata have no place for, as lines of a list."""
    silent = {name for name in fields if name in _SILENT_FIELDS or is_access_name(name)}
    shown = ((name, value) for name, value in fields.items() if value and name not in silent)
    return [f"{name.upper() if len(name) <= _INITIALS else name.capitalize()}: {value}" for name, value in shown]
