"""Words of natural languages are data: they stand in `shared/language/packs`, and in no Python file of the program."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from shared.language import packs
from tests.architecture.source import ROOT, Module, modules

#: A file with so many distinct function words of one language, in its texts, has words of that language.
_FEWEST = 3
_LANGUAGES = ("fra", "deu", "spa", "ita", "por", "nld")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
#: Three or more words as alternatives of a pattern; signs of formats and codes are none of a language.
_ALTERNATIVES = re.compile(r"(?<![\w|])[a-z]{2,}(?:\|[a-z]{2,}){2,}(?![\w|])")
#: Alternatives that are names of formats: of roles, currencies, tags and commands.
_FORMAT_NAMES = """
    system assistant developer human user ai response bot input instruction message prompt note override you
    ignore from now act usd cad aud eur gbp chf jpy java vb live iframe svg object embed error load click
    mouseover drop delete insert update exec bash sh id whoami acunetix nessus sqlmap nikto burpcollaborator
    cat ls wget curl nc rm chat conversation messages history st nd rd th
"""
_FORMATS = frozenset(_FORMAT_NAMES.split())
#: Rooms in which a pattern of English words is a word list, too.
_OF_WORDS = ("shared/language", "shared/text", "services/moderation", "services/answer", "services/retrieval/graph")
_TOY = ROOT / "tests" / "unit" / "language" / "toy"


def _texts(module: Module) -> Iterator[str]:
    """The string constants of a module, without its docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(module.tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


@cache
def _english() -> frozenset[str]:
    """English words: function words, and what the docstrings of several modules say."""
    counted = Counter(
        word
        for module in modules()
        for word in set(_LETTERS.findall((ast.get_docstring(module.tree) or "").casefold()))
    )
    return packs.words_of("eng", "function_words") | {word for word, count in counted.items() if count >= _FEWEST}


def _foreign(texts: list[str]) -> dict[str, list[str]]:
    """The function words of each language that the texts have, where they are many enough and not English too."""
    spoken = {word for text in texts for word in _LETTERS.findall(text.casefold())}
    spoken -= _english()
    found = {language: spoken & packs.words_of(language, "function_words") for language in _LANGUAGES}
    return {language: sorted(words) for language, words in found.items() if len(words) >= _FEWEST}


def _listed(texts: list[str]) -> list[str]:
    """The patterns of alternatives that are words."""
    lists = (found[0] for text in texts for found in _ALTERNATIVES.finditer(text))
    return [words for words in lists if not _FORMATS.issuperset(words.split("|"))]


@pytest.mark.parametrize(
    ("texts", "foreign"),
    [
        (["votre question est dans les documents"], True),
        ([r"\b(?:nicht|kein|ohne)\b", "und", "aber"], True),
        (["cuando", "donde", "porque esta"], True),
        (["und", "est", "und"], False),
        (["a question of the documents", "state per page"], False),
    ],
)
def test_words_of_a_language_are_noticed(texts: list[str], foreign: bool) -> None:
    assert bool(_foreign(texts)) == foreign


@pytest.mark.parametrize(("text", "listed"), [("(?:if|unless|until|when)", True), ("user|human|assistant", False)])
def test_a_list_of_words_in_a_pattern_is_noticed(text: str, listed: bool) -> None:
    assert bool(_listed([text])) == listed


def test_no_python_file_has_words_of_a_language() -> None:
    texts = {str(module.path): list(_texts(module)) for module in modules()}
    foreign = {path: words for path, found in texts.items() if (words := _foreign(found))}
    lists = {path: words for path, found in texts.items() if path.startswith(_OF_WORDS) and (words := _listed(found))}

    assert foreign == {}
    assert lists == {}


def _kinds(kind: type[packs.PackFile]) -> Iterator[type[packs.PackFile]]:
    for found in kind.__subclasses__():
        yield found
        yield from _kinds(found)


def test_every_file_of_a_pack_is_read_by_a_rule() -> None:
    for module in modules():
        if any(name.startswith("shared.language.packs") for name in module.imports):
            importlib.import_module(module.dotted)
    kinds = {kind.file: kind for kind in _kinds(packs.PackFile)}
    files = {file.stem for folder in packs.languages().values() for file in folder.glob("*.yaml")}

    assert files == kinds.keys()
    assert all(packs.read(kind) for kind in kinds.values())


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the rules make of texts in a language that is nothing but a folder, in a process of their own."""
    folder = tmp_path_factory.mktemp("packs")
    for language in packs.languages().values():
        (folder / language.name).symlink_to(language)
    shutil.copytree(_TOY, folder / "toy")
    command = [sys.executable, "-m", "tests.support.toy_language", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    results: dict[str, Any] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize(
    ("rule", "result"),
    [
        ("kinds", ["amount", "person", "time", "other"]),
        ("contains", [True, False]),
        ("focus", "fuma klosa"),
        ("takes up", [True, False]),
        (
            "follow-ups",
            ["Kosta li mucha, ol fuma ?", "Kosta ol fuma mucha poru mantas ?", "Kwali ol prezu du ol fuma?"],
        ),
        ("refers back", [True, False]),
        ("denied", [["reparta"], []]),
        ("opposed", ["opna"]),
        ("quantities", [True, False, "max"]),
        ("absence", "absence"),
        ("grounded", [[True, "", True], [False, "", False], [True, "denial", False]]),
        ("attacks", [True, False, False]),
        ("instructions", [True, False]),
        ("private", [["Hq7xz"], [], ["555 0142"], ["Bola"]]),
        ("differ", ["antu is not postu", "antu is not postu"]),
        ("entity", ["technology", "other"]),
        ("message", "Plu vordu."),
        ("yes", [True, False]),
    ],
)
def test_a_folder_is_enough_for_a_rule_to_know_a_language(toy: dict[str, Any], rule: str, result: object) -> None:
    assert toy[rule] == result
