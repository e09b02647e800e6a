"""Passages by the hundred thousand that read and link like real ones.

Wikipedia paragraphs of two public sets, and for every further copy of them the same world under other names: words that
are rare names there are renamed, the same way in titles, texts and questions, so that names stay as rare, links as
many and hubs as large as they would be in a collection of that size. Where the sets do not lie beside the project, the
texts are made up: words by Zipf's law, each passage naming a few others.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, count, islice
from pathlib import Path

from tests.support.platform import ROOT

DATA = ROOT.parent / "shared" / "data"
_SETS = {"multihop_2wiki_hipporag": "queries_101.jsonl", "multihop_hotpot_train100": "queries.jsonl"}
#: A capitalised word in more passages than this is a hub (a country, a month), and is called the same in every world.
_HUB = 60
_WORD = re.compile(r"[^\W\d_]+")
_SYLLABLES = ("an", "el", "or", "is", "um", "ar", "en", "ol", "ix", "ud")
#: Of the made-up texts.
_VOCABULARY, _WORDS_EACH, _NAMES_EACH, _MADE_UP = 40_000, 70, 3, 6_000


@dataclass(frozen=True)
class Article:
    """A short document."""

    source: str
    title: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A question and the sources its answer is in."""

    text: str
    sources: tuple[str, ...]


def described() -> str:
    return "2Wiki and Hotpot paragraphs, copies renamed" if _present() else "made-up texts, Zipf vocabulary"


def articles(number: int) -> Iterator[Article]:
    """So many, always the same ones."""
    base = _base()[0]
    renamed = _renamed(base)
    worlds = (_copy(article, world, renamed) for world in count() for article in base)
    return islice(worlds, number)


def questions(number: int, among: int) -> list[Asked]:
    """So many questions about the first `among` articles, spread over the worlds these make."""
    base, asked = _base()
    renamed = _renamed(base)
    worlds = max(1, among // len(base))
    chosen = random.Random(7)
    there = {article.source for article in base[:among]}
    usable = [one for one in asked if set(one.sources) <= there]
    found = []
    for _ in range(number):
        one, world = chosen.choice(usable), chosen.randrange(worlds)
        sources = tuple(f"{source}-{world}" for source in one.sources)
        found.append(Asked(_rename(one.text, world, renamed), sources))
    return found


def _present() -> bool:
    return all((DATA / name / "corpus.jsonl").exists() for name in _SETS)


def _base() -> tuple[list[Article], list[Asked]]:
    if not _present():
        return made_up()
    read, asked = [], []
    for name, queries in _SETS.items():
        read += [Article(f"kb:{one['_id']}", one["title"], one["text"]) for one in _lines(DATA / name / "corpus.jsonl")]
        asked += [
            Asked(one["question"], tuple(f"kb:{source}" for source in one["gold_ids"]))
            for one in _lines(DATA / name / queries)
        ]
    return read, asked


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def made_up() -> tuple[list[Article], list[Asked]]:
    """Articles and questions about them, the same on every machine."""
    chosen = random.Random(5)
    words = [
        "".join(chosen.choices("bdfgklmnprstvz", k=1) + chosen.choices(_SYLLABLES, k=4)) for _ in range(_VOCABULARY)
    ]
    weights = list(accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))
    titles = [" ".join(word.capitalize() for word in chosen.sample(words, 2)) for _ in range(_MADE_UP)]
    read, asked = [], []
    for number, title in enumerate(titles):
        named = chosen.sample(titles, _NAMES_EACH)
        said = chosen.choices(words, cum_weights=weights, k=_WORDS_EACH)
        for name in named:
            said.insert(chosen.randrange(len(said)), name)
        read.append(Article(f"kb:{number}", title, f"{title} is a {' '.join(said)}."))
        about = chosen.choices(words, cum_weights=weights, k=3)
        asked.append(Asked(f"Which {' '.join(about)} has {title}?", (f"kb:{number}",)))
    return read, asked


def _renamed(base: list[Article]) -> frozenset[str]:
    """The words of titles that are names, and not those of hubs."""
    found = Counter(word for article in base for word in set(_WORD.findall(f"{article.title} {article.text}")))
    titled = {word for article in base for word in _WORD.findall(article.title) if word[0].isupper()}
    return frozenset(word for word in titled if len(word) > 2 and found[word] <= _HUB)


def _copy(article: Article, world: int, renamed: frozenset[str]) -> Article:
    title, text = (_rename(said, world, renamed) for said in (article.title, article.text))
    return Article(f"{article.source}-{world}", title, text)


def _rename(said: str, world: int, renamed: frozenset[str]) -> str:
    if not world:
        return said
    ending = _SYLLABLES[world % 10] + (_SYLLABLES[world // 10 % 10] if world >= 10 else "")
    return _WORD.sub(lambda word: word[0] + ending if word[0] in renamed else word[0], said)
