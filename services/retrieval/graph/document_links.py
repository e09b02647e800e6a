"""Links between documents, represented as words of the passages that contain them.

A document that can be linked to (it has a URL, or is a file among others) defines an entity whose key is one word made
of its address; a passage with a link to it gets that word appended to its own. Every store therefore finds links the
way it finds mentions of names, in whichever order the documents arrive, and a link to a page never matches the pages
below it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urljoin, urlsplit

from services.retrieval.graph.ports import Entity
from shared.contracts.domain import part_of
from shared.contracts.requests.retrieval import IndexedDocument

#: Base address of files that have no URL; not resolvable.
_FILES = "http://files.invalid/"
#: Maximum links per passage; a passage with more is a list of links, which says little about any of them.
_MAX_LINKS = 40


def entity_of(address: str) -> Entity:
    """The entity that links to this address mention; `address` is among `own_addresses`."""
    return Entity(_word(address), address.removeprefix("files.invalid/"))


def own_addresses(document: IndexedDocument) -> list[str]:
    """The addresses under which the document can be linked to; none for the later parts of a text in parts."""
    text, part = part_of(document.source)
    if part > 1:
        return []
    name = text.partition(":")[2]
    linkable = "/" in name or "." in name.rpartition("/")[2]
    own = (_normalised(document.url), _normalised(_base(name)) if linkable else "")
    return list(dict.fromkeys(address for address in own if address))


def link_words(document: IndexedDocument, targets: Iterable[str]) -> tuple[str, ...]:
    """The words for the documents that `targets` lead to; `targets` are link targets as written in the document."""
    name = part_of(document.source)[0].partition(":")[2]
    bases = [base for base in (document.url, _base(name)) if base]
    addresses = dict.fromkeys(address for target in targets for address in _resolved(target, bases))
    return tuple(_word(address) for address in list(addresses)[:_MAX_LINKS])


def _resolved(target: str, bases: list[str]) -> Iterator[str]:
    if target.startswith("#"):
        return
    for base in bases:
        try:
            address = _normalised(urljoin(base, target))
        except ValueError:
            continue  # not a valid address
        if address:
            yield address


def _base(name: str) -> str:
    """`guides/a.md` as an absolute address for relative links; a name that is a URL already is returned as it is."""
    return name if "://" in name else f"{_FILES}{name}"


def _normalised(url: str) -> str:
    """The address without scheme, `www.`, fragment, trailing slash and percent escapes; empty if not HTTP."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{unquote(parts.path).rstrip('/')}{query}"


def _word(address: str) -> str:
    """The key of an address: one word of letters and digits, which no store splits."""
    return f"link{hashlib.sha256(address.encode()).hexdigest()[:20]}"
