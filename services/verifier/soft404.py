"""Recognises soft 404s: pages that answer 200 and say that they do not exist. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from services.verifier.ports import UrlObservation
from shared.language.analysis import normalise
from shared.language.packs import PackFile, Patterns, Phrases, Words, either, once, phrase, read

#: Separators of the parts of a title, each compared by itself: `Page not found | The Library`.
_DIVIDERS = re.compile(r"(?<!\s)\s++[-|–—·:»]\s++|(?:(?<!\s)\s++)?\|\s*+|:\s++")


class MissingPageWords(PackFile):
    """How sites say in a language that a page does not exist, without accents and in lower case.

    `titles` match a part of the title, or the heading, as a whole; `phrases` are conclusive anywhere in them. `paths`
    are parts of addresses of such pages, `home` of home pages, to which sites redirect what does not exist.
    """

    file = "missing_pages"
    titles: Patterns = ()
    phrases: Phrases = ()
    paths: Patterns = ()
    home: Words = ()


_ALL = tuple(read(MissingPageWords).values())
_WHOLE = re.compile(either(once(words.titles for words in _ALL)))
_PHRASES = once(words.phrases for words in _ALL)
_PATH = re.compile(rf"(?:^|[/_-]){either(once(words.paths for words in _ALL))}(?:$|[/_.-])")
_HOME_PART = rf"(?:[a-z]{{2}}(?:[-_][a-z]{{2}})?|{phrase(words.home for words in _ALL)})(?:\.\w{{2,5}})?"
_HOME = re.compile(rf"/?(?:{_HOME_PART}(?:/{_HOME_PART})?/?)?")


def soft_404(url: str, observed: UrlObservation, patterns: Iterable[str] = ()) -> bool:
    """Whether the page behind `url`, which answered 200, says that it does not exist.

    `patterns` are a pipeline's own: phrases of the title or heading, or (beginning with `/`) paths with `*`.
    """
    asked, found = urlsplit(url), urlsplit(observed.final_url or url)
    title, heading = _plain(observed.title), _plain(observed.heading)
    for pattern in patterns:
        if pattern.startswith("/"):
            if fnmatchcase(found.path, pattern):
                return True
        elif pattern.strip() and _plain(pattern) in f"{title}\n{heading}":
            return True
    if _moved(asked.path, found.path) and (_PATH.search(found.path.lower()) or _HOME.fullmatch(found.path.lower())):
        return True
    if any(phrase in text for phrase in _PHRASES for text in (title, heading)):
        return True
    return any(_WHOLE.fullmatch(part.strip(" .!()")) for part in (*_DIVIDERS.split(title), heading))


def _moved(asked: str, found: str) -> bool:
    """Whether a page other than the home page redirected to another path."""
    return asked.rstrip("/") != found.rstrip("/") and not _HOME.fullmatch(asked.lower())


def _plain(text: str) -> str:
    return " ".join(normalise(text[:300]).replace("’", "'").split())
