"""Fingerprints of a text: enough to tell that another text repeats a run of its words, too little to read it. Pure.

Winnowing (Schleimer, Wilkerson and Aiken, SIGMOD 2003): of the hashes of every eight words in a row, the least of each
four neighbours is kept. A run of eleven words that is repeated is always found, a run of less than eight never is. Of a
text longer than about 1,500 words a sample is kept, so that runs must be longer to be found for certain.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable

from shared.text.analysis import words

RUN = 8
NEIGHBOURS = 4
#: At most so many hashes are kept of all texts together: 4 kB as text.
MOST = 600
_BYTES = 5
#: Shorter runs say too little to be anybody's: eight signs of a script without spaces.
_LEAST_CHARS = 24


def marks(*texts: str) -> str:
    """The fingerprints of the texts together, as short text; empty when they are too short to have any."""
    kept: set[bytes] = set()
    for text in texts:
        hashes = _hashes(text)
        kept.update(min(hashes[at : at + NEIGHBOURS]) for at in range(max(0, len(hashes) - NEIGHBOURS + 1)))
        if len(hashes) < NEIGHBOURS:
            kept.update(hashes)
    return base64.b85encode(b"".join(sorted(kept)[:MOST])).decode()


def repeats(text: str, marks_of_another: str, known: Iterable[str] = ()) -> bool:
    """Whether the text repeats a run of the other one that none of the `known` texts has.

    Marks that cannot be read match nothing.
    """
    try:
        data = base64.b85decode(marks_of_another)
    except (ValueError, binascii.Error):
        return False
    wanted = {data[at : at + _BYTES] for at in range(0, len(data), _BYTES)}
    found = wanted.intersection(_hashes(text))
    return bool(found) and bool(found.difference(*map(_hashes, known)))


def _hashes(text: str) -> list[bytes]:
    spoken = words(text)
    runs = (" ".join(spoken[at : at + RUN]) for at in range(len(spoken) - RUN + 1))
    return [hashlib.blake2b(run.encode(), digest_size=_BYTES).digest() for run in runs if len(run) >= _LEAST_CHARS]
