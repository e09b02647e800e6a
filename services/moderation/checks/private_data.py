"""Private data by its shape: e-mail addresses, phone numbers, nine-digit identification numbers.

Every pattern is linear in the text: what repeats is bounded or possessive, and begins only where a run begins. Dates,
amounts of money and pieces of longer reference numbers are let be.
"""

from __future__ import annotations

import re

from services.moderation.checks.opinion import FINE, Look, Opinion
from services.moderation.settings import ModerationSettings, PrivateKind
from shared.domain import Finding

MASK = "XXX"

_DASH = r"\-\u2010-\u2015"
_GAP = rf"[ .{_DASH}]"  # within a number: a space, a point, or a dash of any width
#: A number begins: not within a word, a longer reference (`A-123`, `12.5`) or an amount of money.
_BEGIN = rf"(?<!\w)(?<!\d[.,])(?<!\w[/{_DASH}])(?<![$€£¥])(?<![$€£¥][ \d])(?<![$€£¥]\d[ \d])(?<![$€£¥]\d\d[ ])"
#: ... and ends: not before more of the same, nor before a currency.
_END = rf"(?!\w)(?![/{_DASH}]\w)(?![.,]\d)(?![ ]?(?:[$€£¥%]|(?:dollars?|euros?|cad|usd|eur|gbp)\b))"

_PHONE = rf"""(?:
    \+ \d (?: [ .()/{_DASH}]{{0,2}} \d ){{7,14}}                         # +44 20 7946 0958, +1 (613) 555-0142
  | 00 [1-9] (?: [ .(){_DASH}]{{0,2}} \d ){{8,13}}                       # 0033 1 70 18 99 00
  | (?: 1 {_GAP}? )? \( \d{{3}} \) [ ]? {_GAP}? \d{{3}} {_GAP}? \d{{4}}  # (613) 555-0142
  | (?: 1 {_GAP} )? \d{{3}} {_GAP} \d{{3}} {_GAP} \d{{4}}                # 613-555-0142, 1 613 555-0142
  | 1? [2-9] \d{{2}} [2-9] \d{{6}}                                       # 6135550142
  | 0 [1-9] (?P<gap> {_GAP} ) \d{{2}} (?: (?P=gap) \d{{2}} ){{3}}        # 01 70 18 99 00
  | 0 [1-9] \d{{8}}                                                      # 0170189900
  | (?= \d (?: {_GAP}? \d ){{8}} )                                       # nine digits or more, in groups after 0xx:
    0 [1-9] \d{{1,2}} (?P<lead> {_GAP} ) \d{{2,4}} (?P=lead) \d{{2,4}} (?: (?P=lead) \d{{2}} )?  # 020 7946 0958
  ) (?: [ ,]{{0,2}} (?: x | ext\.? | poste ) [ ]? \d{{1,6}} )?           # ... ext. 12
"""
_ID_NUMBER = rf"""(?:
    \d{{3}} (?P<gap> {_GAP}? ) \d{{3}} (?P=gap) \d{{3}}                  # 123 456 789
  | \d{{3}} {_GAP} \d{{2}} {_GAP} \d{{4}}                                # 123-45-6789
  ) (?! [ ] \d{{3}} (?!\d) )                                             # not the head of 123 456 789 000
"""
_EMAIL = r"""
    (?<! [\w.%+'\-] ) [\w.%+'\-]++ @
    (?! [\d.]++ (?! [\w\-] ) )                                           # "10@2.50" is a price
    [^\W_]++ (?: -++ [^\W_]++ )*+ (?: \. [^\W_]++ (?: -++ [^\W_]++ )*+ )++
"""

#: Kind -> pattern, in the order in which they are masked: an address may hold a number, a phone number nine digits.
PATTERNS: dict[PrivateKind, re.Pattern[str]] = {
    "email": re.compile(_EMAIL, re.VERBOSE),
    "phone": re.compile(_BEGIN + _PHONE + _END, re.VERBOSE | re.IGNORECASE),
    "id_number": re.compile(_BEGIN + _ID_NUMBER + _END, re.VERBOSE | re.IGNORECASE),
}


def private_data(look: Look, settings: ModerationSettings) -> Opinion:
    """Masks what it finds with XXX; objects when the pipeline blocks that kind."""
    text, found, blocked = look.text, [], False
    for kind, pattern in PATTERNS.items():
        policy = settings.policy(kind)
        if policy == "off":
            continue
        text, count = pattern.subn(MASK, text)
        if count:
            found.append(Finding(kind=kind, count=count))
            blocked = blocked or policy == "block"
    if not found:
        return FINE
    return Opinion(objection="pii" if blocked else None, text=text, findings=tuple(found))
