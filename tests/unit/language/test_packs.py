"""The words of languages are data: a folder is a language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from shared.language import analysis, packs


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
    files = {file for folder in packs.languages().values() for file in folder.iterdir()}

    assert {file.name for file in files} == known
    assert all(words == words.lower() for file in files for words in file.read_text("utf-8").split())
    assert set(packs.languages()) >= set(analysis.SNOWBALL)
