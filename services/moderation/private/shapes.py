"""Private data with a recognisable form: numbers, e-mail and IP addresses, postal codes, stated passwords.

Every pattern runs in linear time: repetitions are bounded or possessive, and start only where a run starts. Dates,
amounts of money and parts of longer reference numbers are not matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from services.moderation.private import numbers
from services.moderation.private.phones import phones
from services.moderation.private.span import Span
from services.moderation.settings import PrivateKind

_DASH = r"\-\u2010-\u2015"
_GAP = rf"[ .{_DASH}]"  # within a number: a space, a point, or a dash of any width
#: The beginning of a number: not within a word, a longer reference (`A-123`, `12.5`) or an amount of money.
BEGIN = rf"(?<!\w)(?<!\d[.,])(?<!\w[/{_DASH}])(?<![$€£¥])(?<![$€£¥][ \d])(?<![$€£¥]\d[ \d])(?<![$€£¥]\d\d[ ])"
#: The end of a number: not before more of the same, nor before a currency.
END = rf"(?!\w)(?![/{_DASH}]\w)(?![.,]\d)(?![ ]?(?:[$€£¥%]|(?:dollars?|euros?|cad|usd|eur|gbp)\b))"

_EMAIL = r"""
    (?<! [\w.%+'\-] ) [\w.%+'\-]++ @
    (?! [\d.]++ (?! [\w\-] ) )                                           # "10@2.50" is a price
    [^\W_]++ (?: -++ [^\W_]++ )*+ (?: \. [^\W_]++ (?: -++ [^\W_]++ )*+ )++
"""
_IP = r"""
    (?<! [\w.:] ) (?<! [Vv]ersion[ ] ) (?<! [Ss]ection[ ] ) (?<! [Rr]elease[ ] ) (?<! \b[Vv][ ] )
    (?: \d{1,3} (?: \. \d{1,3} ){3} (?: /\d{1,2} )?
      | (?= [0-9A-Fa-f:]{0,39} : ) (?: [0-9A-Fa-f]{0,4} : ){2,7} [0-9A-Fa-f]{0,4}
    ) (?! [\w:] ) (?! \.\d )
"""
_IBAN = r"(?<![\w-]) [A-Za-z]{2}\d{2} (?: [ -]? [0-9A-Za-z]{4} ){2,7} (?: [ -]? [0-9A-Za-z]{1,3} )? (?![\w-])"
_CARD = rf"(?<![\w.{_DASH}]) \d (?: {_GAP}? \d ){{11,18}} (?!\w) (?![{_DASH}.]\w)"
_ID_NUMBER = rf"""(?:
    \d{{3}} (?P<gap> {_GAP}? ) \d{{3}} (?P=gap) \d{{3}}                  # 123 456 789
  | \d{{3}} {_GAP} \d{{2}} {_GAP} \d{{4}}                                # 123-45-6789
  ) (?! [ ] \d{{3}} (?!\d) )                                             # not the head of 123 456 789 000
"""
_SSN = rf"(?: \d{{3}} (?P<dash> {_GAP} ) \d{{2}} (?P=dash) \d{{4}} )"
_SIN = rf"(?: \d{{3}} (?P<gap> {_GAP}? ) \d{{3}} (?P=gap) \d{{3}} ) (?! [ ] \d{{3}} (?!\d) )"
_CPF = r"(?: \d{3} \. \d{3} \. \d{3} - \d{2} )"
_POSTAL = r"""
    \b[ABCEGHJ-NPRSTVXYabceghj-nprstvxy]\d[A-Za-z][ -]?\d[A-Za-z]\d\b                       # Canada: K1A 0B1
  | \b(?: GIR[ ]?0AA | [A-Z]{1,2}\d[A-Z\d]?[ ]\d[ABD-HJLNP-UW-Z]{2} )\b                     # United Kingdom: SW1A 1AA
  | (?<![\w-])\d{5}-\d{4}(?![\w-])                                                          # United States: 12345-6789
  | (?: \b(?i:zip|postal|postcode|postale?)\b (?:[ ](?i:code))? (?:[ ](?i:is|est))? [ :]{1,3} ) (?P<code> \d{4,5} )\b
  | \b(?i:code[ ]postal) (?:[ ](?i:est))? [ :]{1,3} (?P<french> \d{5} )\b
"""
_STATED = r"""
    \b (?P<mine> (?: my | mon | ma | our | notre ) [ ] (?: \w{1,12} [ ] ){0,2} )?
    (?: password | passcode | passwd | pwd | mot [ ] de [ ] passe | mdp | pin (?: [ ] (?: code | number ) )? | nip
      | code [ ] secret | access [ ] code | secret [ ] key | api [ ] key )
    (?P<told> [ ]? [:=] [ ]? | [ ] (?: is | was | est | était | c'est ) [ ]? :? [ ]? )
    (?P<secret> "[^"]{3,64}" | [^\s"]{3,64} )
"""
#: Words after "the password is" that are not a password.
_NOT_SECRETS_TEXT = """not required incorrect wrong needed valid invalid expired case the too also being still now
always
    never that asked sent reset blocked locked unknown lost forgotten set case-sensitive changed missing
    mandatory optional what required, correct rejected refused secure weak strong working for there this
    pas requis invalide expiré obligatoire nécessaire refusé demandé oublié perdu bloqué le la un une
    trop toujours valide faux encore"""
_NOT_SECRETS = frozenset(_NOT_SECRETS_TEXT.split())

_Test = Callable[[str], bool]
#: In order of precedence: an IBAN may contain a card number, a card number nine digits.
_NUMBERS: tuple[tuple[PrivateKind, re.Pattern[str], _Test], ...] = (
    ("iban", re.compile(_IBAN, re.VERBOSE), numbers.is_iban),
    ("card", re.compile(_CARD, re.VERBOSE), numbers.is_card),
    ("cpf", re.compile(BEGIN + _CPF + END, re.VERBOSE | re.IGNORECASE), numbers.is_cpf),
    ("ssn", re.compile(BEGIN + _SSN + END, re.VERBOSE | re.IGNORECASE), numbers.is_ssn),
    ("sin", re.compile(BEGIN + _SIN + END, re.VERBOSE | re.IGNORECASE), numbers.is_sin),
)
_IPS = re.compile(_IP, re.VERBOSE)
_EMAILS = re.compile(_EMAIL, re.VERBOSE)
_ID_NUMBERS = re.compile(BEGIN + _ID_NUMBER + END, re.VERBOSE | re.IGNORECASE)
_POSTAL_CODES = re.compile(_POSTAL, re.VERBOSE)
_PASSWORDS = re.compile(_STATED, re.VERBOSE | re.IGNORECASE)
#: Every match of `_STATED` contains one of these.
_SECRET_WORDS = ("pass", "pwd", "mdp", "pin", "nip", "code", "key")
#: Digits of the shortest account, identification or telephone number.
_FEWEST_DIGITS = 6
_DIGIT = re.compile(r"\d")
_TWO_COLONS = re.compile(r"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:")


def shapes(text: str, regions: tuple[str, ...]) -> Iterator[Span]:
    """Yields every span, the more reliable kinds first; spans may overlap. `regions` are those of phone formats."""
    if "@" in text:
        yield from (Span("email", found.start(), found.end()) for found in _EMAILS.finditer(text))
    lowered = text.casefold()
    if any(word in lowered for word in _SECRET_WORDS):
        yield from _passwords(text)
    digits = len(_DIGIT.findall(text))
    if digits >= 4 or _TWO_COLONS.search(text):
        yield from (Span("ip", one.start(), one.end()) for one in _IPS.finditer(text) if numbers.is_ip(one[0]))
    if digits >= _FEWEST_DIGITS:
        for kind, pattern, is_one in _NUMBERS:
            yield from (Span(kind, one.start(), one.end()) for one in pattern.finditer(text) if is_one(one[0]))
        yield from phones(text, regions)
        yield from (Span("id_number", found.start(), found.end()) for found in _ID_NUMBERS.finditer(text))
    if digits:
        for found in _POSTAL_CODES.finditer(text):
            group = next((name for name in ("code", "french") if found[name]), 0)
            yield Span("postal_code", found.start(group), found.end(group))


def _passwords(text: str) -> Iterator[Span]:
    for found in _PASSWORDS.finditer(text):
        secret = found["secret"].rstrip(".,;!?)")
        plain = secret.strip('"').casefold()
        if plain in _NOT_SECRETS or len(plain) < 3:
            continue
        odd = not plain.isalpha() or not secret.islower()
        if (odd and (found["mine"] or not plain.isalpha() or found["told"].strip() in (":", "="))) or found["mine"]:
            yield Span("password", found.start("secret"), found.start("secret") + len(secret))
