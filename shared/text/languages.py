"""Language codes: converts the codes, tags and names of clients, documents and settings to ISO 639-3.

`und` is an unknown language, as in the standard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

UNKNOWN = "und"


class Language(NamedTuple):
    """A row of the table: ISO 639-3, ISO 639-1, English name, the language's own name."""

    code3: str
    code2: str
    name: str
    own_name: str


def _table(name: str) -> list[list[str]]:
    """The rows of a file next to this module, one to a line, with tabs between the columns."""
    return [line.split("\t") for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()]


#: The supported languages; lingua can identify each of them from text.
LANGUAGES = tuple(Language(*row) for row in _table("languages.tsv"))
#: Older, bibliographic or more specific codes of these languages.
_ALIASES = dict(_table("language_aliases.tsv"))

#: Language, script, region: the first three parts of a tag (RFC 5646).
_REGION = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{4})?[-_]([A-Za-z]{2})(?![A-Za-z0-9])")

_BY_CODE3 = {language.code3: language for language in LANGUAGES}
_CODES = (
    {language.code2: language.code3 for language in LANGUAGES}
    | {language.code3: language.code3 for language in LANGUAGES}
    | {language.name.casefold(): language.code3 for language in LANGUAGES}
    | {language.own_name.casefold(): language.code3 for language in LANGUAGES}
    | _ALIASES
)


@lru_cache(maxsize=1024)
def code3(language: str) -> str:
    """ISO 639-3 of a code, tag or name: `en`, `eng`, `en-CA`, `fr_FR`, `French` or `français`; else `und`.

    Of an `Accept-Language` list the first entry is used.
    """
    tag = language.split(",", 1)[0].split(";", 1)[0].strip().casefold()
    return _CODES.get(tag) or _CODES.get(tag.replace("_", "-").split("-", 1)[0], UNKNOWN)


def known_code(language: str) -> str:
    """As `code3`, but empty for a language that is not in the table."""
    code = code3(language)
    return "" if code == UNKNOWN else code


def code2(language: str) -> str:
    """ISO 639-1 of a code, tag or name; empty for a language that is not in the table."""
    known = _BY_CODE3.get(code3(language))
    return known.code2 if known else ""


def region_of_tag(tag: str) -> str:
    """The region (ISO 3166) of a language tag: `CA` for `fr-CA`, `fr_ca` or `zh-Hant-CA`; empty without a region."""
    found = _REGION.match(tag.strip())
    return found[1].upper() if found else ""


def english_name(language: str) -> str:
    """`French` for `fra`, `fr` or `fr-CA`; `an unknown language` for anything else."""
    known = _BY_CODE3.get(code3(language))
    return known.name if known else "an unknown language"


def localised(texts: Mapping[str, str], *languages: str) -> str:
    """The text in the first of the languages that has one, else in English, else any, else an empty text.

    The keys of `texts` may be anything that `code3` accepts.
    """
    by_code = {code3(key): text for key, text in texts.items()}
    for language in (*languages, "eng"):
        if found := by_code.get(code3(language)):
            return found
    return next(iter(by_code.values()), "")
