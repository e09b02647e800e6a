"""Rejects languages that the pipeline does not answer, recognised by their script or their function words."""

from __future__ import annotations

import re

from services.moderation.checks.verdict import NO_OBJECTION, CheckInput, CheckResult
from services.moderation.settings import ModerationSettings
from shared.language.analysis import guess_language
from shared.text.languages import UNKNOWN

#: Scripts that identify a language, or the likeliest of several; the first one with half of the letters counts.
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
_DISTINCTIVE_LETTERS = {"urd": "ٹڈڑںےہھ", "fas": "پچژگکی", "ukr": "іїєґ"}
_ARABIC = re.compile("[\u0600-\u06ff]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_PATTERNS = {code: re.compile(f"[{script}]") for code, script in _SCRIPTS.items()}
_LEAST_SHARE = 0.5


def unsupported_language(check_input: CheckInput, settings: ModerationSettings) -> CheckResult:
    """Rejects a text that is clearly in a language that the pipeline does not answer."""
    if not settings.languages or settings.outcome("unsupported_language") == "off":
        return NO_OBJECTION
    detected = detect_language(check_input.text)
    if detected == UNKNOWN or detected in settings.languages:
        return NO_OBJECTION
    return CheckResult(rejection="unsupported_language")


def detect_language(text: str) -> str:
    """The language of the text (ISO 639-3) where script or function words identify it clearly, else `und`."""
    head = text[:4000]
    if head.isascii():
        return guess_language(head)
    letters = sum(map(str.isalpha, head)) or 1
    for code, script in _PATTERNS.items():
        count = len(script.findall(head))
        if count >= _LEAST_SHARE * letters or (code == "jpn" and count >= 0.2 * letters):
            return code
    if len(_ARABIC.findall(head)) >= _LEAST_SHARE * letters:
        return next((code for code in ("urd", "fas") if set(_DISTINCTIVE_LETTERS[code]) & set(head)), "ara")
    if len(_CYRILLIC.findall(head)) >= _LEAST_SHARE * letters:
        return "ukr" if set(_DISTINCTIVE_LETTERS["ukr"]) & set(head.casefold()) else "rus"
    return guess_language(head)
