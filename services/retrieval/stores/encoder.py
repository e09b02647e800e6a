"""Text to sparse BM25 vectors, computed here for every store, so that their scores agree.

A passage is encoded by the rules of its own language (Snowball stems, function words dropped, accents folded), or as it
stands when that is unknown. A query is encoded by the rules of its language and, beside the stems, as it stands: that
way it reaches passages of unknown language too, and a term no passage has costs nothing. The store weighs terms by
rarity (IDF).

A title that is a question is what people will ask, in other words: its terms stand in the vector a second time, by
themselves, so that they are neither drowned by a long text nor weighed by how rare they are in texts.
"""

from __future__ import annotations

import re
from functools import lru_cache

import qdrant_edge as edge

from shared.text.analysis import SNOWBALL

#: Chosen on English abstracts and French and English FAQ, in passages of about 512 characters, which have about 70
#: terms: a title counts twice, and the length norm is milder than the usual 0.75.
_TITLE_WEIGHT = 2
_SATURATION, _LENGTH_NORM, _USUAL_LENGTH = 1.2, 0.6, 70.0
#: What a question in a title counts by itself, against the whole, and how many terms such a question has; together they
#: count less than a whole without one, so that beside other texts the two are on a level.
_QUESTION_WEIGHT, _QUESTION_LENGTH, _TOGETHER = 0.7, 15.0, 0.8
_QUESTION_MARKS = ("?", "？", "؟")
#: Moves a term's index to where terms of such titles are.
_ASIDE = 0x5BD1E995

#: Scripts that put no spaces between words: Thai, Lao, Khmer, kana, Han.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")

Sparse = tuple[list[int], list[float]]


def encode_passage(title: str, text: str, language: str) -> Sparse:
    """Indices and term weights of a passage; empty lists when it holds no word."""
    asks = title.rstrip().endswith(_QUESTION_MARKS)
    times = 1 if asks else _TITLE_WEIGHT
    whole = f"{f'{title} . ' * times}{text}" if title else text
    vector = _model(language, stemmed=True).embed_document(_spaced(whole))
    if not asks:
        return list(vector.indices), list(vector.values)
    asked = _model(language, stemmed=True, usual_length=_QUESTION_LENGTH).embed_document(_spaced(title))
    terms = dict(zip(vector.indices, vector.values, strict=True))
    for index, value in zip(asked.indices, asked.values, strict=True):
        terms[index ^ _ASIDE] = value * _QUESTION_WEIGHT
    return list(terms), [value * _TOGETHER for value in terms.values()]


def encode_query(text: str, language: str) -> Sparse:
    """Indices of the query's terms, each weighing 1; empty lists when it holds none."""
    text = _spaced(text)
    stemmed = _model(language, stemmed=True).embed_query(text)
    plain = _model(language, stemmed=False).embed_query(text)
    terms = {*stemmed.indices, *plain.indices}
    indices = sorted(terms | {index ^ _ASIDE for index in terms})
    return indices, [1.0] * len(indices)


def _spaced(text: str) -> str:
    """With every two neighbours of an unspaced script as a word: what is searched for may begin anywhere."""
    return text if text.isascii() else _UNSPACED.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    said = run[0]
    pairs = [said[at : at + 2] for at in range(len(said) - 1)] or [said]
    return f" {' '.join(pairs)} "


@lru_cache(maxsize=128)
def _model(language: str, *, stemmed: bool, usual_length: float = _USUAL_LENGTH) -> edge.Bm25:
    known = SNOWBALL.get(language)
    nothing = edge.StopwordsSet(languages=set(), custom=set())
    return edge.Bm25(
        edge.Bm25Config(
            k=_SATURATION,
            b=_LENGTH_NORM,
            avg_len=usual_length,
            ascii_folding=True,
            language=known or "english",
            stopwords=None if known else nothing,
            stemmer=None if known and stemmed else edge.DisabledStemmer(),
        )
    )
