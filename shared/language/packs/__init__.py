"""The words of each language, as data: a folder for each (`fr/`), a file for each list, words between white space.

A list is read when it is first asked for. A language has the lists that its folder has: a new one needs no code.

function_words        words that only carry grammar; by them a language is recognised
abbreviations         a period after them does not end a sentence
abbreviations_at_end  of these, where a capital letter follows, it does
before_ordinals       articles before a number with a period (`am 8.`)
counted               beginnings of the words after one (`8. Februar`)
denials               words that deny what follows them in their clause
denying_determiners   of these, those before a noun: the noun and its verb are denied together
denying_prepositions  of these, those that deny a noun only
denials_of_what_precedes  of these, those that also deny what stands before them
moods                 stems that carry only the mood of a verb: what follows them is denied
only, others          `only X may` says that `others` may not, and nothing against `X may`
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from shared.text.languages import UNKNOWN, code3

List = Literal[
    "function_words",
    "abbreviations",
    "abbreviations_at_end",
    "before_ordinals",
    "counted",
    "denials",
    "denying_determiners",
    "denying_prepositions",
    "denials_of_what_precedes",
    "moods",
    "only",
    "others",
]
FOLDER = Path(__file__).parent


@cache
def languages() -> dict[str, Path]:
    """The folder of each language, by ISO 639-3; by its own name where the code is in no table."""
    folders = sorted(path for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_"))
    return {code3(path.name) if code3(path.name) != UNKNOWN else path.name: path for path in folders}


@cache
def words_of(language: str, name: List) -> frozenset[str]:
    """A list of a language; empty where it has none."""
    folder = languages().get(language)
    file = folder / f"{name}.txt" if folder else None
    return frozenset(file.read_text("utf-8").split()) if file and file.exists() else frozenset()


@cache
def words_of_all(name: List) -> frozenset[str]:
    """A list of all languages together."""
    return frozenset().union(*(words_of(language, name) for language in languages()))
