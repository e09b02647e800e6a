"""The character encodings that texts from outside may name.

Python's codecs are more than encodings: `punycode` needs quadratic time, `undefined` and `idna` raise errors of their
own. So a name is looked up here and never handed to Python as it came.
"""

from __future__ import annotations

import re
from encodings.aliases import aliases

_DECLARED = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)

_CODECS = frozenset(
    [
        *("ascii", "utf_8", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "latin_1", "koi8_r", "koi8_u", "tis_620"),
        *(f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
        *(f"cp{page}" for page in (437, 850, 852, 855, 858, 866, 874, 932, 949, 950, *range(1250, 1259))),
        *("mac_roman", "mac_cyrillic", "mac_latin2"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "euc_jp", "shift_jis", "iso2022_jp", "euc_kr"),
    ]
)
_ALIASES = {
    **{alias: codec for alias, codec in aliases.items() if codec in _CODECS},
    **{codec: codec for codec in _CODECS},
    "x_sjis": "shift_jis",
    "x_gbk": "gbk",
    "x_mac_roman": "mac_roman",
    "windows_874": "cp874",
    "iso_8859_8_i": "iso8859_8",
    "unicode_1_1_utf_8": "utf_8",
}


def codec_of(name: str) -> str:
    """Python's name of the encoding that a document or a header names; empty for any other name."""
    return _ALIASES.get(name.strip().lower().replace("-", "_").replace(" ", "_"), "")


def declared_charset(media_type: str) -> str:
    """The encoding that a media type names among its parameters, as it is written; empty for none."""
    declared = _DECLARED.search(media_type)
    return declared[1] if declared else ""
