"""Rejects probes of vulnerability scanners, and sentences in spaced-out letters that evade the lexicons."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.moderation.checks.verdict import NO_OBJECTION, CheckInput, CheckResult
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding
from shared.text.normalizer import normalize, spaced_out

_PROBES = re.compile(
    r"""<script\b | javascript: | \bon(?:error|load|click|mouseover)[ ]?=
      | <(?:iframe|svg|object|embed)\b[^>]{0,200}\bon\w{3,12}=
      | \.\./\.\./ | \.\.\\\.\.\\ | /etc/(?:passwd|shadow) | \bboot\.ini\b | %2e%2e%2f | %00 | %0d%0a
      | \bunion\s++(?:all\s++)?select\b
      | \bselect\s[\w*,\s]{1,80}\sfrom\s++\w++(?:\s++where\b|;|\s*+--)
      | ['"]\s{0,3}(?:or|and)\s{1,3}['"]?\d{1,4}['"]?\s{0,3}=\s{0,3}['"]?\d{1,4}
      | ['"]\s{0,3};\s{0,3}(?:drop|delete|insert|update|exec)\b
      | \bdrop\s+table\b | \bxp_cmdshell\b | \bwaitfor\s+delay\b | \bsleep\(\d{1,4}\) | \bbenchmark\(\d
      | \$\{jndi: | \{\{\s{0,3}\d{1,6}\s{0,3}\*\s{0,3}\d{1,6}\s{0,3}\}\} | <%=\s | \$\{\d{1,6}\*\d{1,6}\} | <!ENTITY\b
      | ;\s{0,3}(?:cat|ls|wget|curl|nc|rm)\s+[-/] | \|\s{0,3}(?:nc|bash|sh)\b\s
      | \$\((?:id|whoami|curl|wget)\b | \bcmd\.exe\b
      | \bphp://(?:input|filter) | \bfile:///(?:etc|c:) | \b(?:acunetix|nessus|sqlmap|nikto|burpcollaborator)\b""",
    re.VERBOSE | re.IGNORECASE,
)
#: Every probe contains any of these; searching for them first is much faster.
_SIGNS_TEXT = """< = ; | % ${ {{ $( ../ ..\\ /etc/ javascript: union select drop xp_cmd waitfor sleep( benchmark( .exe php://
    file:/// boot.ini acunetix nessus sqlmap nikto burpcollaborator"""
_SIGNS = tuple(_SIGNS_TEXT.split())
#: Consecutive single letters; an honestly spelled word is shorter.
_SPACED_LETTERS = 10


def scanner(check_input: CheckInput, settings: ModerationSettings) -> CheckResult:
    """Rejects a text with a probe for vulnerabilities, or with a long run of spaced-out letters."""
    if settings.outcome("manipulation") == "off":
        return NO_OBJECTION
    if next(scanner_forms(check_input.text), None) is None:
        return NO_OBJECTION
    return CheckResult(rejection="manipulation", findings=(Finding(kind="manipulation", count=1),))


def scanner_forms(text: str) -> Iterator[tuple[str, int, int]]:
    """Each reason for the rejection: its name, and the characters from start to end."""
    lowered = text.casefold()
    if any(sign in lowered for sign in _SIGNS) and (found := _PROBES.search(text)):
        yield "form: scanner's probe", *found.span()
    if " " in text and spaced_out(normalize(text)) >= _SPACED_LETTERS:
        yield "form: spaced-out letters", 0, len(text)
