"""Addresses in the text of an answer: web pages, mail addresses and links, and which of them have a source. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

#: An address as it is written in prose: with a scheme, beginning with `www.`, or a mail address.
ADDRESS = re.compile(
    r"(?:https?|ftp)://[^\s<>\[\]\"'`|\\]+|(?<![\w@/.])www\.[^\s<>\[\]\"'`|\\]+|(?:mailto|tel):[^\s<>\[\]()\"'`|\\]+"
    r"|(?<![\w.+@-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    re.IGNORECASE,
)
#: The text in the place of an address that was removed.
REMOVED = "[…]"
_END = ".,;:!?*_'\"»”’…"


class KnownAddresses:
    """The addresses that may stand in an answer: those that stand in its passages, in results of tools, in the question
    and in the pipeline, with or without their scheme."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [_searchable(text) for text in texts if text]

    def add(self, text: str) -> None:
        """Add every address of the text, which may be an address itself."""
        self._texts.append(_searchable(text))

    def __contains__(self, address: str) -> bool:
        wanted = _searchable(bare(address))
        return bool(wanted) and any(_stands_in(wanted, text) for text in self._texts)


def _searchable(text: str) -> str:
    return html.unescape(text).casefold()


def _stands_in(wanted: str, text: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(wanted) : at + len(wanted) + 1]
        host_only = "/" not in wanted and "@" not in wanted
        ends = not (after.isalnum() or after in tuple("-_~=&%@")) and (host_only or after not in ("/", "?"))
        beyond = text[at + len(wanted) + 1 : at + len(wanted) + 2]
        if not (before.isalnum() or before in ("@", "-", ".")) or text[max(0, at - 4) : at] == "www.":
            slash_end = after == "/" and not (beyond.isalnum() or beyond in tuple("-_~?"))
            dot_on = after == "." and beyond.isalnum()
            if (ends or slash_end) and not dot_on:
                return True
        at = text.find(wanted, at + 1)
    return False


def trimmed(address: str) -> str:
    """The address without punctuation that belongs to the sentence around it."""
    kept = address.rstrip(_END)
    while kept.endswith(")") and kept.count(")") > kept.count("("):
        kept = kept[:-1].rstrip(_END)
    return kept


def bare(address: str) -> str:
    """The form to compare addresses in: without scheme, `www.`, fragment, trailing slash and HTML escapes."""
    plain = html.unescape(address).split("#", 1)[0]
    return re.sub(r"^(?:https?://|mailto:|tel:)", "", plain, flags=re.IGNORECASE).removeprefix("www.").rstrip("/")


def addresses(text: str) -> list[str]:
    """Every address of the text, in order."""
    return [trimmed(match[0]) for match in ADDRESS.finditer(text)]
