"""Recognises soft 404s: pages that answer 200 and say that they do not exist. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from services.verifier.ports import UrlObservation
from shared.language.analysis import normalise

#: Separators of the parts of a title, each compared by itself: `Page not found | The Library`.
_DIVIDERS = re.compile(r"(?<!\s)\s++[-|–—·:»]\s++|(?:(?<!\s)\s++)?\|\s*+|:\s++")
#: Matches a part of the title, or the heading, as a whole.
_WHOLE = re.compile(
    r"(?:(?:error|erreur|fehler)\s*)?\(?404\)?(?:\s*(?:error|erreur|not found|page not found))?"
    r"|(?:sorry,? |oops!? |whoops!? )?(?:the |this |that |requested )*(?:web ?)?page (?:was |is )?"
    r"(?:not found|can ?not be found|could not be found|not available|unavailable|missing)"
    r"|not found|page (?:introuvable|non trouvee|inexistante)|document introuvable|page does ?n[o']t exist"
    r"|seite nicht gefunden|pagina no encontrada|pagina nao encontrada|pagina non trovata"
)
#: Phrases that are conclusive anywhere in title or heading.
_PHRASES = (
    *("we couldn't find that web page", "we couldn't find that page", "we can't find that page"),
    *("we could not find that page", "page you requested could not be found", "page you requested was not found"),
    *("page you are looking for", "page you're looking for", "this page isn't available", "no longer exists"),
    *("nous ne pouvons trouver cette page", "nous n'avons pas trouve", "cette page n'existe pas"),
    *("cette page n'existe plus", "la page que vous cherchez", "la page demandee est introuvable"),
)
_PATH = re.compile(r"(?:^|[/_-])(?:404|not-?_?found|page-?not-?found|error-?404|introuvable)(?:$|[/_.-])")
#: Home pages, to which sites redirect addresses that do not exist.
_HOME_PART = r"(?:[a-z]{2}(?:[-_][a-z]{2})?|home|index|default|accueil)(?:\.\w{2,5})?"
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
