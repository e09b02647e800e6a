"""Fingerprints of texts: they show whether another text repeats a run of words, without revealing the words. Pure.

Winnowing (Schleimer, Wilkerson and Aiken, SIGMOD 2003): of the hashes of all runs of eight words, the smallest of every
four neighbours is kept. A repeated run of eleven words is always found, a run of fewer than eight words never. Of texts
longer than about 1,500 words only a sample is kept, so that only longer runs are certain to be found.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable

from shared.language.analysis import words

RUN = 8
NEIGHBOURS = 4
#: The most hashes that are kept of all texts together: 4 kB as text.
MOST = 600
_BYTES = 5
#: Shorter runs are skipped: in scripts without spaces eight words are only eight characters.
_LEAST_CHARS = 24


def marks(*texts: str) -> str:
    """The fingerprints of all the texts, in base85; empty when the texts are too short."""
    kept: set[bytes] = set()
    for text in texts:
        hashes = _hashes(text)
        kept.update(min(hashes[at : at + NEIGHBOURS]) for at in range(max(0, len(hashes) - NEIGHBOURS + 1)))
        if len(hashes) < NEIGHBOURS:
            kept.update(hashes)
    return base64.b85encode(b"".join(sorted(kept)[:MOST])).decode()


def repeats(text: str, marks_of_another: str, known: Iterable[str] = ()) -> bool:
    """Whether the text repeats a run of words of the fingerprinted text that none of the `known` texts contains.

    Invalid fingerprints match nothing.
    """
    try:
        data = base64.b85decode(marks_of_another)
    except (ValueError, binascii.Error):
        return False
    fingerprints = {data[at : at + _BYTES] for at in range(0, len(data), _BYTES)}
    repeated = fingerprints.intersection(_hashes(text))
    return bool(repeated) and bool(repeated.difference(*map(_hashes, known)))


def _hashes(text: str) -> list[bytes]:
    tokens = words(text)
    runs = (" ".join(tokens[at : at + RUN]) for at in range(len(tokens) - RUN + 1))
    return [hashlib.blake2b(run.encode(), digest_size=_BYTES).digest() for run in runs if len(run) >= _LEAST_CHARS]
