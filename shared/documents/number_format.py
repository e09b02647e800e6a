"""Numbers as a spreadsheet shows them: percent, decimals, thousands, leading zeros, currency."""

from __future__ import annotations

import re

#: What a format has besides digits: quoted texts, escaped characters, currencies, colours and conditions, fillers.
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]{0,80})(?:-[^\]]{0,80})?\]|\[[^\]]{0,80}\]|[_*].')
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.[#0?]+)?")
_MOST_DECIMALS = 15
#: Longest format that is read, and the first of the characters that stand for its literal texts meanwhile.
_LONGEST, _MARK = 500, 0xE000


def shown_number(value: float, number_format: str) -> str:
    """The number in its format; in a format that is not understood, as it is."""
    sections = number_format[:_LONGEST].split(";")
    section = sections[1] if value < 0 and len(sections) > 1 and sections[1] else sections[0]
    if not section or section.lower() == "general":
        return _plain(value)
    texts: list[str] = []

    def keep(literal: re.Match[str]) -> str:
        texts.append(literal[1] or literal[2] or literal[3] or "")
        return chr(_MARK + len(texts) - 1)

    marked = _LITERAL.sub(keep, section)
    digits = _DIGITS.search(marked)
    if digits is None or "E" in marked or "/" in marked:  # nothing to fill in, scientific, fractions
        return _plain(value)
    number = _in_digits(abs(value) if len(sections) > 1 and value < 0 else value, digits[0], percent="%" in marked)
    around = [
        re.sub("[\ue000-\uf8ff]", lambda mark: texts[ord(mark[0]) - _MARK], part).strip(" ,")
        for part in (marked[: digits.start()], marked[digits.end() :])
    ]
    before, after = around
    sign, number = ("-", number[1:]) if number.startswith("-") else ("", number)
    spaced = f" {after}" if after and (after[0].isalpha() or len(after) > 1) else after
    return f"{sign}{before}{number}{spaced}"


def _in_digits(value: float, digits: str, *, percent: bool) -> str:
    whole, _, decimals = digits.partition(".")
    exact = min(_MOST_DECIMALS, len(decimals))
    scaled = value * 100 if percent else value
    text = f"{scaled:{',' if ',' in whole.rstrip(',') else ''}.{exact}f}"
    optional = len(decimals) - len(decimals.rstrip("#?"))
    if optional and "." in text:
        kept = len(text) - min(optional, len(text) - text.index(".") - 1)
        text = text[:kept] + text[kept:].rstrip("0")
        text = text.rstrip(".")
    zeros = whole.count("0")
    if zeros > 1 and "," not in whole:
        sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
        left, point, right = text.partition(".")
        text = f"{sign}{left.zfill(zeros)}{point}{right}"
    return text


def _plain(value: float) -> str:
    return f"{value:.10g}" if isinstance(value, float) and abs(value) < 1e10 else str(value)
