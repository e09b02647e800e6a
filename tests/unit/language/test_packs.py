"""The words of languages are data: a folder is a language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from shared.contracts.errors import ConfigurationError
from shared.language import analysis, packs
from shared.language.polarity import PolarityWords


@pytest.fixture
def toy_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language of a few words beside the packaged ones; nothing of it is in any Python file of the product."""
    for folder in packs.languages().values():
        (tmp_path / folder.name).symlink_to(folder)
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "function_words.txt").write_text("blim blam\nblum", "utf-8")
    (tmp_path / "toy" / "abbreviations.txt").write_text("zq", "utf-8")
    caches = (packs.languages, packs.words_of, packs.words_of_all, analysis.stop_words)
    monkeypatch.setattr(packs, "FOLDER", tmp_path)
    for kept in caches:
        kept.cache_clear()
    yield
    monkeypatch.undo()
    for kept in caches:
        kept.cache_clear()


@pytest.mark.usefixtures("toy_language")
def test_a_folder_is_a_language() -> None:
    text = "Blim dorka blam fen. Ask Zq. Dorka blum tanu."

    assert analysis.guess_language(text) == "toy"
    assert analysis.written_language(text, "eng") == "toy"
    assert analysis.stems(text, "toy") == ["dorka", "fen", "ask", "zq", "dorka", "tanu"]
    assert len(analysis.sentences(text)) == 2


def test_a_language_without_folder_has_no_words() -> None:
    assert "toy" not in packs.languages()
    assert packs.words_of("toy", "function_words") == frozenset()
    assert len(analysis.sentences("Ask Zq. Dorka.")) == 2


def test_every_file_is_a_list_that_is_read() -> None:
    known = {f"{name}.txt" for name in get_args(packs.List)}
    files = {file for folder in packs.languages().values() for file in folder.glob("*.txt")}

    assert {file.name for file in files} == known
    assert all(words == words.lower() for file in files for words in file.read_text("utf-8").split())
    assert set(packs.languages()) >= set(analysis.SNOWBALL)


def _read_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "polarity.yaml").write_text(text, "utf-8")
    monkeypatch.setattr(packs, "languages", lambda: {"toy": tmp_path / "toy"})
    with pytest.raises(ConfigurationError) as raised:
        packs.read(PolarityWords)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("harmles: blim", "harmles: there is no such key"),
        ("harmless: 'blim ('", "harmless.0: Value error, not a regular expression"),
        ("clauses: [[blim]]", "clauses.0: Input should be a valid string"),
        ("clauses: {blim: blam}", "clauses: Input should be a valid tuple"),
        ("opposites: {open: [blim]}", "opposites.open.1: Field required"),
        ("clauses: [", "while parsing a flow"),
        ("- clauses", "the whole document: Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    message = _read_broken(tmp_path, monkeypatch, text)

    assert message.startswith(f"{tmp_path}/toy/polarity.yaml: ")
    assert fault in message


def test_a_rule_without_words_matches_nothing() -> None:
    assert re.search(packs.phrase([]), "anything") is None
    assert re.fullmatch(packs.phrase([["a.b", "c"], ["c", "d e"]]), "d e")
    assert re.search(packs.phrase([["a.b"]]), "acb") is None
