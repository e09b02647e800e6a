"""Languages that are not answered: told by their script, or by their function words."""

from __future__ import annotations

import re

from services.moderation.checks.verdict import FINE, Look, Opinion
from services.moderation.settings import ModerationSettings
from shared.text.analysis import guess_language
from shared.text.languages import UNKNOWN

#: Scripts that say the language, or the likeliest of a few; the first that holds half of the letters counts.
_SCRIPTS = {
    "jpn": "\u3040-\u30ff",
    "kor": "\u1100-\u11ff\uac00-\ud7af",
    "zho": "\u3400-\u4dbf\u4e00-\u9fff",
    "tha": "\u0e00-\u0e7f",
    "hin": "\u0900-\u097f",
    "ben": "\u0980-\u09ff",
    "pan": "\u0a00-\u0a7f",
    "tam": "\u0b80-\u0bff",
    "heb": "\u0590-\u05ff",
    "ell": "\u0370-\u03ff",
}
_OWN_LETTERS = {"urd": "ٹڈڑںےہھ", "fas": "پچژگکی", "ukr": "іїєґ"}
_ARABIC = re.compile("[\u0600-\u06ff]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_COMPILED = {code: re.compile(f"[{script}]") for code, script in _SCRIPTS.items()}
_MOSTLY = 0.5


def language(look: Look, settings: ModerationSettings) -> Opinion:
    """Objects to a text that is plainly in a language which the pipeline does not answer."""
    if not settings.languages or settings.outcome("unsupported_language") == "off":
        return FINE
    seems = seeming(look.text)
    if seems == UNKNOWN or seems in settings.languages:
        return FINE
    return Opinion(objection="unsupported_language")


def seeming(text: str) -> str:
    """The language of the text, ISO 639-3, where script or function words say it plainly; else `und`."""
    head = text[:4000]
    if head.isascii():
        return guess_language(head)
    letters = sum(map(str.isalpha, head)) or 1
    for code, script in _COMPILED.items():
        held = len(script.findall(head))
        if held >= _MOSTLY * letters or (code == "jpn" and held >= 0.2 * letters):
            return code
    if len(_ARABIC.findall(head)) >= _MOSTLY * letters:
        return next((code for code in ("urd", "fas") if set(_OWN_LETTERS[code]) & set(head)), "ara")
    if len(_CYRILLIC.findall(head)) >= _MOSTLY * letters:
        return "ukr" if set(_OWN_LETTERS["ukr"]) & set(head.casefold()) else "rus"
    return guess_language(head)
