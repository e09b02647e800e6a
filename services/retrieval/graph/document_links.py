"""Links between documents, as words of the texts they stand in.

A document that can be linked to (it has an address, or is a file among others) is defined under a word made of its
address; a passage with a link to it says that word after its own. So links are found the way names are, by every store,
whichever document comes first, and a link to a page is never taken for one to the pages below it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urljoin, urlsplit

from services.retrieval.graph.ports import Entity
from shared.contracts.domain import part_of
from shared.contracts.requests.retrieval import IndexedDocument

#: Where files stand that have no address: nowhere on the web.
_FILES = "http://files.invalid/"
#: More links than this in one passage are a list of links, which says little of any of them.
_MOST = 40


def entity_of(address: str) -> Entity:
    """What the document at this address (as `own_addresses` gives it) is linked to by."""
    return Entity(_word(address), address.removeprefix("files.invalid/"))


def own_addresses(document: IndexedDocument) -> list[str]:
    """Under which addresses the document can be linked to; of a text in parts, its first part."""
    text, part = part_of(document.source)
    if part > 1:
        return []
    name = text.partition(":")[2]
    linked = "/" in name or "." in name.rpartition("/")[2]
    own = (_compared(document.url), _compared(_place(name)) if linked else "")
    return list(dict.fromkeys(address for address in own if address))


def link_words(document: IndexedDocument, targets: Iterable[str]) -> tuple[str, ...]:
    """The words for what the document's links lead to; `targets` are as they are written in it."""
    name = part_of(document.source)[0].partition(":")[2]
    bases = [base for base in (document.url, _place(name)) if base]
    found = dict.fromkeys(address for target in targets for address in _resolved(target, bases))
    return tuple(_word(address) for address in list(found)[:_MOST])


def _resolved(target: str, bases: list[str]) -> Iterator[str]:
    if target.startswith("#"):
        return
    for base in bases:
        try:
            address = _compared(urljoin(base, target))
        except ValueError:
            continue  # no address at all
        if address:
            yield address


def _place(name: str) -> str:
    """`guides/a.md` as an address that others can be relative to; a name that is an address already is that one."""
    return name if "://" in name else f"{_FILES}{name}"


def _compared(url: str) -> str:
    """Without what does not matter: scheme, `www.`, fragment, the last slash, percent escapes. Empty for no page."""
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
    """One word of letters and digits, which every store keeps whole."""
    return f"link{hashlib.sha256(address.encode()).hexdigest()[:20]}"
