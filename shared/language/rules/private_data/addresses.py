"""Finds street addresses that the text says somebody lives at, is reached at or is called by (English, French). Pure.

Addresses of offices are what people ask about; only what the words before make somebody's own is private.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.language.rules.private_data.span import Span

_BIG = r"[A-ZÀ-ÖØ-Þ0-9][\w.’'\-]{0,30}"
_CITY = (
    r"(?:,?[ ](?:\d{4,5}[ ])?[A-ZÀ-Ý][\w’'\-]{1,30}(?:[ ][A-ZÀ-Ý][\w’'\-]{1,30}){0,2}"
    r"(?:,?[ ][A-Z]{2}\b)?(?:,?[ ]\d{5}\b)?)?"
)
_ENGLISH = rf"""
    \d{{1,5}} [A-Za-z]? ,? [ ] (?: [NSEW]\.? [ ] )? (?: {_BIG} [ ] ){{1,3}}?
    (?: Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Crescent|Cres|Place|Pl|Terrace|Way
        |Close|Gardens|Square|Sq
      |Highway|Hwy|Parkway|Pkwy|Circle|Cir|Trail|Row|Mews|Grove|Hill ) \b \.?
    (?: ,?[ ] (?: Apt|Apartment|Unit|Suite|Flat|\# ) \.?[ ]? \w{{1,5}} )? {_CITY}
"""
_FRENCH = rf"""
    \d{{1,5}} (?: [ ]? (?: bis|ter|quater ) )? ,? [ ]
    (?i: rue|avenue|av\.|boulevard|bd|boul\.|place|pl\.|chemin|ch\.|route|allée|impasse|quai|cours|square|passage
        |sentier|montée|ruelle|rang|côte|voie|faubourg )
    [ ] (?: (?: de[ ]la|du|des|de|aux?|le|la|les )[ ] | d['’] | l['’] | de[ ]l['’] ){{0,2}} {_BIG}
    (?: [ -] (?: (?: de|du|des|la|le|et )[ ] )? [A-ZÀ-Ý][\w’'\-]{{1,30}} ){{0,3}} {_CITY}
"""
_GERMAN = rf"[A-ZÄÖÜ][\w-]{{2,30}} (?: straße|strasse|str\.|weg|platz|gasse|allee ) [ ] \d{{1,4}} [a-z]? {_CITY}"
_ADDRESSES = re.compile(rf"(?<![\w.,/-])(?:{_ENGLISH}|{_FRENCH}|{_GERMAN})", re.VERBOSE)
#: What makes an address somebody's own.
_OWN = re.compile(
    r"\b(?:live[sd]?|living|reside[sd]?|residing|staying|moved?|moving|deliver(?:ed)?|ship(?:ped)?|my home|my house"
    r"|my flat|my apartment|mail(?:ed)? (?:it |them )?to"
    r"|(?:my|his|her|their|home|mailing|billing|shipping|new|old|current|whose|delivery)(?: \w{1,12}){0,2} address"
    r"|address (?:is|was|:)|address:"
    r"|habit\w{1,5}|demeur\w{1,5}|domicili\w{1,3}|résid\w{1,5}|log(?:e|é|ée|eons)|déménag\w{1,5}|(?:mon|son|ma"
    r"|notre|nouvelle|ancienne)(?: \w{1,12}){0,2} adresse|adresse (?:est|:)|adresse:|livr\w{1,4}|chez (?:moi|nous)"
    r"|wohne?n?|wohnt|adresse (?:ist|lautet))\b[^.!?;]{0,30}\Z",
    re.IGNORECASE,
)
_OWN_CHARS = 70


def addresses(text: str) -> Iterator[Span]:
    """Yields street addresses after words that make them somebody's own."""
    for found in _ADDRESSES.finditer(text):
        if _OWN.search(text[max(0, found.start() - _OWN_CHARS) : found.start()]):
            yield Span("address", found.start(), found.end())
