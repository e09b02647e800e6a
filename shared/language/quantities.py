"""Numbers, amounts, dates and times of a text by value, so that `$120.00`, `120 dollars` and `120 $` are equal. Pure.

English, French, Spanish and German forms are read: digits with separators, decimal points and commas, numbers in words,
ordinals, percentages, currencies, units of time, size, length, weight and temperature, clock times and dates. Where a
form has two meanings (`1,500` may be 1500 or 1.5), all are kept, and one that fits is enough.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from shared.language.analysis import fold

Bound = str


class Quantity(NamedTuple):
    """A number at `[start:end]` of its text.

    `values` are the possible values as written, `kind` what it counts (`time`, `money`, `date`, …; empty: unknown),
    `unit` the unit in that kind, and `scale` the possible factors to the kind's base unit. `bound` is `min` or `max`
    where the text says `at least`, `up to` and the like. `spelled` says that it is in words.
    """

    start: int
    end: int
    values: frozenset[float]
    kind: str = ""
    unit: str = ""
    scale: tuple[float, ...] = (1.0,)
    bound: Bound = ""
    spelled: bool = False

    @property
    def bases(self) -> frozenset[float]:
        """The possible values in the base unit of the kind."""
        return frozenset(value * factor for value in self.values for factor in self.scale)


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
#: kind -> unit -> (factors to the base unit, its written forms, folded and in lower case).
_UNITS: dict[str, dict[str, tuple[tuple[float, ...], str]]] = {
    "time": {
        "ms": ((0.001,), "ms millisecond milliseconds milliseconde millisecondes milisegundo milisegundos millisekunde "
               "millisekunden"),
        "s": ((1.0,), "s sec secs second seconds seconde secondes segundo segundos sekunde sekunden"),
        "min": ((_MINUTE,), "min mins minute minutes minuto minutos minuten"),
        "h": ((_HOUR,), "h hr hrs hour hours heure heures hora horas stunde stunden"),
        "day": ((_DAY,), "d day days jour jours journee journees dia dias tag tage tagen"),
        "week": ((7 * _DAY,), "week weeks semaine semaines semana semanas woche wochen"),
        "month": ((30 * _DAY, 31 * _DAY, 365 * _DAY / 12), "month months mois mes meses monat monate monaten"),
        "year": ((365 * _DAY, 360 * _DAY, 372 * _DAY), "year years an ans annee annees ano anos jahr jahre jahren"),
    },
    "money": {
        "dollar": ((1.0,), "$ dollar dollars dolar dolares piastres"),
        "us dollar": ((1.0,), "usd us$"),
        "canadian dollar": ((1.0,), "cad ca$ c$"),
        "australian dollar": ((1.0,), "aud a$"),
        "euro": ((1.0,), "€ euro euros eur"),
        "pound": ((1.0,), "£ pound pounds gbp livre livres pfund quid"),
        "franc": ((1.0,), "chf franc francs franken sfr"),
        "yen": ((1.0,), "¥ yen jpy"),
        "cent": ((0.01,), "cent cents centime centimes centimo centimos penny pence ¢"),
    },
    "share": {"percent": ((1.0,), "% percent pct pourcent prozent porciento")},
    "size": {
        "b": ((1.0,), "byte bytes octet octets"),
        "kb": ((1e3, 1024.0), "kb kib ko kilobyte kilobytes kilo-octets"),
        "mb": ((1e6, 1024.0**2), "mb mib mo megabyte megabytes"),
        "gb": ((1e9, 1024.0**3), "gb gib go gigabyte gigabytes"),
        "tb": ((1e12, 1024.0**4), "tb tib terabyte terabytes"),
    },
    "length": {
        "mm": ((0.001,), "mm millimetre millimetres millimeter millimeters milimetros"),
        "cm": ((0.01,), "cm centimetre centimetres centimeter centimeters zentimeter centimetros"),
        "m": ((1.0,), "m metre metres meter meters metros metro"),
        "km": ((1000.0,), "km kilometre kilometres kilometer kilometers kilometros"),
        "mile": ((1609.344,), "mile miles mi milles meile meilen millas"),
        "foot": ((0.3048,), "ft foot feet pieds"),
        "inch": ((0.0254,), "inch inches pouces zoll pulgadas"),
    },
    "weight": {
        "g": ((1.0,), "g gram grams gramme grammes gramm gramos"),
        "kg": ((1000.0,), "kg kilo kilos kilogram kilograms kilogramme kilogrammes kilogramm kilogramos"),
        "t": ((1e6,), "tonne tonnes tons tonnen toneladas"),
        "lb": ((453.592,), "lb lbs"),
    },
    "degree": {"celsius": ((1.0,), "°c celsius"), "fahrenheit": ((1.0,), "°f fahrenheit")},
}  # fmt: skip
_BY_FORM = {
    form: (kind, unit, scale)
    for kind, units in _UNITS.items()
    for unit, (scale, forms) in units.items()
    for form in forms.split()
}


def kind_forms(kind: str) -> frozenset[str]:
    """The written forms of every unit of a kind."""
    return frozenset(form for _, forms in _UNITS.get(kind, {}).values() for form in forms.split())


#: Forms that are also words or letters: units only right after digits.
_AFTER_DIGITS = frozenset(["s", "d", "m", "g", "h", "t", "b", "go", "an", "mes", "mi", "min", "mo", "ko"])

_CARDINALS: dict[str, float] = {}
_SCALES: dict[str, float] = {
    "hundred": 100, "cent": 100, "cents": 100, "cien": 100, "ciento": 100, "hundert": 100,
    "thousand": 1e3, "mille": 1e3, "mil": 1e3, "tausend": 1e3, "k": 1e3,
    "million": 1e6, "millions": 1e6, "millon": 1e6, "millones": 1e6, "millionen": 1e6,
    "billion": 1e9, "billions": 1e9, "milliard": 1e9, "milliards": 1e9, "milliarde": 1e9, "milliarden": 1e9,
}  # fmt: skip
_LISTED = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
    "fr": "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf vingt",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis "
    "diecisiete dieciocho diecinueve veinte",
    "de": "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn "
    "siebzehn achtzehn neunzehn zwanzig",
}
_TENS = {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "soixante-dix": 70, "quatre-vingt": 80,
    "quatre-vingts": 80, "quatre-vingt-dix": 90, "septante": 70, "huitante": 80, "nonante": 90,
    "treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90,
    "dreissig": 30, "dreiszig": 30, "dreißig": 30, "vierzig": 40, "funfzig": 50, "sechzig": 60, "siebzig": 70,
    "achtzig": 80, "neunzig": 90,
}  # fmt: skip
_ORDINALS = {
    "en": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    "fr": "premier deuxieme troisieme quatrieme cinquieme sixieme septieme huitieme neuvieme dixieme onzieme douzieme",
    "es": "primero segundo tercero cuarto quinto sexto septimo octavo noveno decimo undecimo duodecimo",
    "de": "erste zweite dritte vierte funfte sechste siebte achte neunte zehnte elfte zwolfte",
}
_MORE = {"premiere": 1, "primera": 1, "primer": 1, "segunda": 2, "tercera": 3, "tercer": 3, "erster": 1, "ersten": 1,
         "zweiten": 2, "dritten": 3, "seconde": 2, "dozen": 12, "douzaine": 12, "docena": 12, "dutzend": 12,
         "once": 1, "twice": 2, "thrice": 3, "veintiuno": 21, "fünf": 5, "zwölf": 12}  # fmt: skip
#: Words that are a number and something else as well: an article, `eleven` in Spanish; they need not be found.
_AMBIGUOUS = frozenset(
    [
        "one",
        "un",
        "une",
        "uno",
        "una",
        "ein",
        "eine",
        "eins",
        "once",
        "second",
        "seconde",
        "null",
        "premier",
        "first",
        "cent",
        "cents",
    ]
)


def _fill() -> None:
    for listed in _LISTED.values():
        _CARDINALS.update({word: float(number) for number, word in enumerate(listed.split())})
    _CARDINALS.update({word: float(number) for word, number in _TENS.items()})
    for listed in _ORDINALS.values():
        _CARDINALS.update({word: float(number) for number, word in enumerate(listed.split(), start=1)})
    _CARDINALS.update({word: float(number) for word, number in _MORE.items()})


_fill()

_MONTHS = {
    form: number
    for listed in (
        "january february march april may june july august september october november december",
        "jan feb mar apr mai jun jul aug sep oct nov dec",
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "januar februar marz april mai juni juli august september oktober november dezember",
    )
    for number, form in enumerate(listed.split(), start=1)
} | {"sept": 9}
_WEEKDAYS = {
    form: number
    for listed in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "mondays tuesdays wednesdays thursdays fridays saturdays sundays",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miercoles jueves viernes sabado domingo",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "montags dienstags mittwochs donnerstags freitags samstags sonntags",
    )
    for number, form in enumerate(listed.split(), start=1)
}
_PERIODS = {
    "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year", "annual": "year",
    "hourly": "h", "quotidien": "day", "quotidienne": "day", "hebdomadaire": "week", "mensuel": "month",
    "mensuelle": "month", "annuel": "year", "annuelle": "year", "taglich": "day", "wochentlich": "week",
    "monatlich": "month", "jahrlich": "year", "diario": "day", "semanal": "week", "mensual": "month", "anual": "year",
}  # fmt: skip

_DIGITS = r"\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,9})?(?!\d)|\d{1,30}(?:[.,]\d{1,9})?(?!\d)"
_TOKEN = re.compile(rf"(?P<number>{_DIGITS})|(?P<word>[^\W\d_]+(?:-[^\W\d_]+)*)|(?P<sign>[$€£¥¢%°])", re.IGNORECASE)
_ISO_DATE = re.compile(r"(?<![\w-])(\d{4})-(\d{2})-(\d{2})(?![\w-])")
_SLASHED = re.compile(r"(?<![\w/.])(\d{1,2})[/.](\d{1,2})[/.](\d{4})(?![\w/])")
_CLOCK = re.compile(
    r"(?<![\w:.])([01]?\d|2[0-4])(?::([0-5]\d)(?::[0-5]\d)?)?\s?(a\.?m\b\.?|p\.?m\b\.?)|"
    r"(?<![\w:.])([01]?\d|2[0-4])(?::|\s?h\s?)([0-5]\d)(?![\w:])|(?<!\w)(noon|midnight|midi|minuit|mediodia)(?!\w)",
    re.IGNORECASE,
)
_NAMED_CLOCK = {"noon": 720, "midi": 720, "mediodia": 720, "midnight": 0, "minuit": 0}
#: Parts of a text whose digits are names: versions, addresses, identifiers, file names, markers.
_NAME = re.compile(
    r"https?://\S+|(?<![\w.])\d+(?:\.\d+){2,}[\w.-]*|(?<![\w.-])[A-Za-z_][^\W\d]*+[.-]?[^\W\d]*+\d[\w.-]*+|(?<![\w.,])\d+[a-z_-]*[A-Za-z_]{4,}\w*|"
    r"\[\d{1,3}\]|#\d+|:\d{2,5}(?!\d)"
)
_LIST_NUMBER = re.compile(r"(?m)^[ \t]*\(?\d{1,3}[.)](?=\s)|(?m:^[ \t]*[|][ \t]*\d{1,3}[ \t]*[|])")
_ORDINAL_END = re.compile(r"(?:st|nd|rd|th|er|ere|ère|e|eme|ème|º|ª|\.º)(?!\w)")
_MIN = ("at least", "no fewer than", "not less than", "no less than", "more than", "over", "minimum of", "minimum",
        "au moins", "plus de", "minimum de", "al menos", "mas de", "como minimo", "mindestens", "mehr als",
        "not before", "starting at", "from", "after", "since", "apres", "depuis", "nach", "seit", "ab",
        "despues de", "desde")  # fmt: skip
_MAX = ("at most", "up to", "no more than", "not more than", "less than", "fewer than", "under", "maximum of",
        "maximum", "within", "at the latest", "au plus", "au maximum", "jusqu'a", "moins de", "maximum de",
        "a lo sumo", "como maximo", "hasta", "menos de", "hochstens", "bis zu", "weniger als", "maximal",
        "innerhalb von", "before", "until", "till", "avant", "vor", "bis", "antes de")  # fmt: skip
_MAX_AFTER, _MIN_AFTER = ("or less", "or fewer", "at most", "au plus", "au maximum", "maximum", "oder weniger"), (
    "or more", "at least", "au moins", "minimum", "ou plus", "oder mehr", "o mas",
)  # fmt: skip
#: Characters after a number in which its unit must begin, and before one in which a bound must end.
_NEAR = 24
_TO = re.compile(r"\s?(?:[-–—/]|to|and|or|a|à|et|ou|bis|und|oder|y|o)\s?", re.IGNORECASE)


class _Piece(NamedTuple):
    """A number before its unit is known."""

    start: int
    end: int
    values: frozenset[float]
    spelled: bool


@lru_cache(maxsize=2048)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every quantity of the text, in order."""
    plain = _flat(text)
    found: list[Quantity] = []
    plain = _take_dates(plain, found)
    found = [one._replace(bound=_bound(plain, one.start, one.end)) for one in found]
    plain = _LIST_NUMBER.sub(_blank, plain)
    plain = _NAME.sub(_blank_name, plain)
    pieces = _pieces(plain)
    end = 0
    for at, piece in enumerate(pieces):
        if piece.start >= end:  # the `cent` of `85 pour cent` belongs to its unit
            found.append(_with_unit(plain, pieces, at, piece))
            end = found[-1].end
    return tuple(sorted(_with_sums(found, plain), key=lambda one: one.start))


def matches(wanted: Quantity, given: Quantity) -> bool:
    """Whether both are the same quantity, as far as their texts tell."""
    if wanted.kind and given.kind:
        return _same_kind_matches(wanted, given)
    years = {float(value // 10_000) for one in (wanted, given) if one.kind == "date" for value in one.values}
    if years:
        return _near(years, given.values if wanted.kind == "date" else wanted.values)
    return _near(wanted.values, given.values)


def _same_kind_matches(wanted: Quantity, given: Quantity) -> bool:
    kinds = {wanted.kind, given.kind}
    if kinds == {"time", "clock"}:  # `15h` is a time of day, or a duration
        minutes = [{value / 60 for value in one.bases} if one.kind == "time" else one.bases for one in (wanted, given)]
        return _near(*minutes)
    if len(kinds) > 1 and not ("period" in kinds and kinds <= {"period", "rate", "time"}):
        return False
    if wanted.kind == "date" and len(kinds) == 1:
        whole = 10_000 if "day" in (wanted.unit, given.unit) else 10**9
        return bool({value % whole for value in wanted.values} & {value % whole for value in given.values})
    return (len(kinds) > 1 or _same_unit(wanted, given)) and _near(wanted.bases, given.bases)


def _same_unit(one: Quantity, other: Quantity) -> bool:
    """Whether the units can be converted; a dollar may be of any country."""
    units = {one.unit, other.unit}
    if one.kind == "money":
        return len(units) == 1 or "cent" in units or ("dollar" in units and all(u.endswith("dollar") for u in units))
    return one.kind != "degree" or len(units) == 1


def stands_as(wanted: Quantity, given: Quantity, spoken: frozenset[str]) -> bool:
    """Whether a number without unit is the quantity in a unit that is named elsewhere (`spoken`), as in a heading."""
    if not wanted.kind or given.kind:
        return False
    for scale, forms in _UNITS.get(wanted.kind, {}).values():
        if not spoken.isdisjoint(forms.split()) and _near(wanted.bases, {v * f for v in given.values for f in scale}):
            return True
    return False


def contradicts(wanted: Quantity, given: Quantity) -> bool:
    """Whether two equal quantities are bounds in opposite directions (`at least 5`, `at most 5`)."""
    return bool(wanted.bound and given.bound and wanted.bound != given.bound)


def _near(some: Iterable[float], others: Iterable[float]) -> bool:
    return any(abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other)) for one in some for other in others)


def _flat(text: str) -> str:
    """The text folded and in lower case, with every character in its place."""
    return "".join(_flat_char(char) for char in text)


@lru_cache(maxsize=4096)
def _flat_char(char: str) -> str:
    if char in "’‘":
        return "'"
    flat = fold(char).lower()
    return flat if len(flat) == 1 else char.lower() if len(char.lower()) == 1 else char


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _blank_name(match: re.Match[str]) -> str:
    """Blanks a name; one that is a number with its unit (`30s`, `64kb`) stays."""
    return match[0] if re.fullmatch(r"\d+[a-z]{1,12}", match[0]) and _form_of(match[0]) else " " * len(match[0])


def _form_of(text: str) -> bool:
    return text.lstrip("0123456789") in _BY_FORM


def _take_dates(plain: str, found: list[Quantity]) -> str:
    """Adds dates and clock times, and blanks them in the text."""

    def iso(match: re.Match[str]) -> str:
        found.append(_date(match, int(match[1]), int(match[2]), int(match[3])))
        return _blank(match)

    def slashed(match: re.Match[str]) -> str:
        one, two, year = int(match[1]), int(match[2]), int(match[3])
        dates = {_date_key(year, month, day) for month, day in ((one, two), (two, one)) if month <= 12 and day <= 31}
        found.append(Quantity(*match.span(), frozenset(dates), "date", "date"))
        return _blank(match)

    def clock(match: re.Match[str]) -> str:
        if match[6]:
            minutes = _NAMED_CLOCK[match[6]]
        elif match[3]:
            minutes = (int(match[1]) % 12 + 12 * match[3].startswith("p")) * 60 + int(match[2] or 0)
        else:
            minutes = int(match[4]) * 60 + int(match[5])
        found.append(Quantity(*match.span(), frozenset([float(minutes)]), "clock", "minute"))
        return _blank(match)

    plain = _CLOCK.sub(clock, _SLASHED.sub(slashed, _ISO_DATE.sub(iso, plain)))
    return _spelled_dates(plain, found)


def _date_key(year: int, month: int, day: int) -> float:
    return float(year * 10_000 + month * 100 + day)


def _date(match: re.Match[str], year: int, month: int, day: int) -> Quantity:
    return Quantity(*match.span(), frozenset([_date_key(year, month, day)]), "date", "date")


_WORD = re.compile(r"[^\W\d_]+")
#: `per year`; with an article (`a year`) it may be a length of time as well.
_ARTICLES = frozenset(["a", "an", "un", "une", "una", "ein", "eine", "einen", "einem", "einer"])
_LONG_UNITS = sorted(
    (form for form in kind_forms("time") if len(form) > 1 and form not in ("ms", "mes")), key=len, reverse=True
)
_EVERY = "|".join(sorted(_ARTICLES, key=len, reverse=True))
_RATE = re.compile(
    rf"(?<!\w)(per|par|por|pro|each|every|al|chaque|cada|jeden|jede|jedes|im|{_EVERY})"
    rf"\s({'|'.join(_LONG_UNITS)}|mes)(?!\w)"
)
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY_MONTH = re.compile(
    rf"(?<!\w)(?:(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s(?:of\s|de\s)?({_MONTH})(?!\w)\.?"
    rf"|({_MONTH})\.?\s(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:.]))(?:,?\s(?:of\s|de\s)?(\d{{4}})(?!\w))?"
)


_UNIT_WORD = "|".join(_LONG_UNITS)
_HALF = re.compile(
    rf"(?<!\w)(?:half\s(?:an?\s|of\san?\s)?({_UNIT_WORD})(?!\w)|(?:one\s|a\s|the\s)?(?:half|moitie|mitad|halfte)(?!\w))"
)
_AND_HALF = re.compile(rf"(?<!\w)(?:an?|one|une?|una?)\s({_UNIT_WORD})\s(?:and\sa\shalf|et\sdemie?|y\smedi[oa])(?!\w)")


def _spelled_dates(plain: str, found: list[Quantity]) -> str:
    def spelled(match: re.Match[str]) -> str:
        month, day = _MONTHS[match[2] or match[3]], int(match[1] or match[4])
        if not 1 <= day <= 31:
            return match[0]
        keys = {_date_key(0, month, day)}
        if match[5]:
            keys = {_date_key(int(match[5]), month, day)}
        found.append(Quantity(*match.span(), frozenset(keys), "date", "day" if not match[5] else "date"))
        return _blank(match)

    def rate(match: re.Match[str]) -> str:
        kind = "period" if match[1] in _ARTICLES else "rate"
        _, unit, scale = _BY_FORM[match[2]]
        found.append(Quantity(*match.span(), frozenset([1.0]), kind, unit, scale, "", spelled=True))
        return _blank(match)

    def half(match: re.Match[str]) -> str:
        kind, unit = "share", "percent"
        scale: tuple[float, ...] = (1.0,)
        if match[1]:
            kind, unit, scale = _BY_FORM[match[1]]
        values = frozenset([0.5 if match[1] else 50.0])
        found.append(Quantity(*match.span(), values, kind, unit, scale, "", spelled=True))
        return _blank(match)

    def and_half(match: re.Match[str]) -> str:
        kind, unit, scale = _BY_FORM[match[1]]
        found.append(Quantity(*match.span(), frozenset([1.5]), kind, unit, scale, "", spelled=True))
        return _blank(match)

    plain = _HALF.sub(half, _AND_HALF.sub(and_half, plain))
    plain = _RATE.sub(rate, _DAY_MONTH.sub(spelled, plain))
    for match in _WORD.finditer(plain):
        if match[0] in _WEEKDAYS:
            found.append(Quantity(*match.span(), frozenset([float(_WEEKDAYS[match[0]])]), "weekday", "weekday"))
        elif match[0] in _PERIODS:
            scale = _UNITS["time"][_PERIODS[match[0]]][0]
            found.append(Quantity(*match.span(), frozenset([1.0]), "rate", _PERIODS[match[0]], scale, "", True))
    return plain


def _pieces(plain: str) -> list[_Piece]:
    """The numbers of the text: digits with a multiplier, or runs of number words."""
    pieces: list[_Piece] = []
    tokens = list(_TOKEN.finditer(plain))
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token["number"]:
            values = _digit_values(token["number"])
            end = token.end()
            following = tokens[at + 1] if at + 1 < len(tokens) else None
            if following and following["word"] and following.start() - end <= 1:
                factor = _SCALES.get(following["word"], 0.0)
                if factor >= 1e3 and (following["word"] != "k" or following.start() == end):
                    values, end, at = frozenset(value * factor for value in values), following.end(), at + 1
            pieces.append(_Piece(token.start(), end, values, spelled=False))
        elif token["word"]:
            run, value = _spelled(tokens, at, plain)
            if run:
                last = tokens[at + run - 1]
                pieces.append(_Piece(token.start(), last.end(), frozenset([value]), spelled=True))
                at += run - 1
        at += 1
    return pieces


def _digit_values(text: str) -> frozenset[float]:
    """`1,500` -> {1500, 1.5}; `120.00` -> {120}; `1.234,56` -> {1234.56}."""
    bare = re.sub(r"[\s'’\u00a0\u202f]", "", text)
    values: set[float] = set()
    for decimal, group in ((".", ","), (",", ".")):
        whole, mark, rest = bare.partition(decimal)
        if decimal in rest or group in rest:
            continue
        parts = whole.split(group)
        if len(parts) > 1 and (any(len(part) != 3 for part in parts[1:]) or not parts[0]):
            continue
        values.add(float("".join(parts) + (f".{rest}" if mark else "")))
    return frozenset(values or {float(re.sub(r"\D", "", bare) or 0)})


def _spelled(tokens: Sequence[re.Match[str]], at: int, plain: str) -> tuple[int, float]:
    """How many tokens from `at` are one number in words, and its value."""
    total, current, taken, end = 0.0, 0.0, 0, tokens[at].start()
    counted = 0
    for token in tokens[at : at + 9]:
        word = token["word"]
        gap = plain[end : token.start()]
        if not word or gap.strip() or (taken and not gap):
            break
        if taken and word in ("and", "et", "und", "y"):
            taken, end = taken + 1, token.end()
            continue
        parts = _number_parts(word)
        if parts is None or (counted and parts and parts[0] < 0):
            break
        before = current
        for value in parts:
            if value >= 1e3:
                total, current = total + max(1.0, current) * value, 0.0
            elif value == 100 and current and current < 10:
                current *= 100
            elif current and (value >= 10 or current % 10) and current % 100:
                current = -1.0
                break
            else:
                current += value
        if current < 0:
            current = before
            break
        taken, end, counted = taken + 1, token.end(), taken + 1
    return counted, total + current


@lru_cache(maxsize=4096)
def _number_parts(word: str) -> tuple[float, ...] | None:
    """The numbers that a word or a compound of words is made of; None if it is no number."""
    if word in _CARDINALS:
        return (_CARDINALS[word],)
    if word in _SCALES and word != "k":
        return (_SCALES[word],)
    if "-" in word:
        parts = [part for part in word.split("-") if part not in ("et", "and")]
        for tens in ("quatre-vingt-dix", "soixante-dix", "quatre-vingts", "quatre-vingt"):
            if word.startswith(f"{tens}-"):
                parts = [tens, *word[len(tens) + 1 :].split("-")]
                break
        numbers = [_number_parts(part) for part in parts if part != "et"]
        if all(numbers) and numbers:
            flat = [value for one in numbers if one for value in one]
            return (sum(flat),) if all(value < 100 for value in flat) else tuple(flat)
    return _german(word)


def _german(word: str) -> tuple[float, ...] | None:
    """`hundertzwanzig` -> (100, 20); `funfunddreissig` -> (35,)."""
    if len(word) < 8:
        return None
    for big in ("tausend", "hundert"):
        head, mark, tail = word.partition(big)
        if mark:
            first = (1.0,) if not head or head == "ein" else _number_parts(head)
            last = () if not tail else _number_parts(tail.removeprefix("und"))
            if first is not None and last is not None:
                return (*((first[0] * _SCALES[big],) if len(first) == 1 else (*first, _SCALES[big])), *last)
            return None
    ones, mark, tens = word.partition("und")
    if mark and tens in _TENS:
        small = 1.0 if ones == "ein" else _CARDINALS.get(ones)
        return (small + _TENS[tens],) if small is not None and small < 10 else None
    return None


def _with_unit(plain: str, pieces: Sequence[_Piece], at: int, piece: _Piece) -> Quantity:
    kind, unit, end = "", "", piece.end
    scale: tuple[float, ...] = (1.0,)
    start = piece.start
    if plain[max(0, start - 1) : start] not in _SIGNS:
        kind, unit, scale, end = _unit_after(plain, piece)
    if not kind:
        before = re.search(
            r"(us\$|ca\$|c\$|a\$|[$€£¥]|\b(?:usd|cad|aud|eur|gbp|chf|jpy))\s?$", plain[max(0, start - 5) : start]
        )
        if before:
            kind, unit, scale = _BY_FORM[before[1]]
            start -= len(before[0])
    if not kind and at + 1 < len(pieces):  # `3 to 5 days`: the unit stands after the last number
        following = pieces[at + 1]
        if _TO.fullmatch(plain[piece.end : following.start]):
            kind, unit, scale, _ = _unit_after(plain, following)
    values = piece.values
    return Quantity(start, end, values, kind, unit, scale, _bound(plain, start, end), piece.spelled)


_SIGNS = frozenset("$€£¥")
#: Words that end the search for a unit after a number.
_NO_UNIT_WORDS = (
    "per par por pro a an each every in for of on at to the de du des le la les et and or und oder y o"
    " pour en dans is are est von fur mit bei zu than times"
)
_NO_UNIT = frozenset(_NO_UNIT_WORDS.split())
_UNIT_TOKEN = re.compile(r"\s?-?\s?(°\s?[cf]\b|[$€£¥¢%]|per\s?cent|pour\s?cent|por\s?ciento|[^\W\d_]+\$?)")


def _unit_after(plain: str, piece: _Piece) -> tuple[str, str, tuple[float, ...], int]:
    """The unit after a number, over at most one word between them (`10 working days`)."""
    at = piece.end
    ordinal = _ORDINAL_END.match(plain, at)
    if ordinal and not piece.spelled:
        return "", "", (1.0,), ordinal.end()
    for skipped in range(2):
        found = _UNIT_TOKEN.match(plain, at)
        if not found:
            break
        form = re.sub(r"\s", "", found[1])
        form = {"pourcent": "percent", "porciento": "percent"}.get(form, form)
        known = _BY_FORM.get(form)
        short = form in _AFTER_DIGITS and (piece.spelled or skipped)
        if known and not short:
            return (*known, found.end())
        if form in _NO_UNIT or (not found[0][:1].isspace() and found[0][:1] != "-"):
            break
        at = found.end()
    return "", "", (1.0,), piece.end


#: `between 18 and`: the number that follows is the upper one.
_BETWEEN = re.compile(r"(?:^|\s)(?:between|entre|zwischen)\s[\w.,$€%]{1,12}(?:\s[\w$€%]{1,8})?\s(?:and|et|y|und)$")


def _bound(plain: str, start: int, end: int) -> Bound:
    before = " ".join(plain[max(0, start - _NEAR) : start].split()).rstrip("$€£ ")
    after = " ".join(plain[end : end + _NEAR].split())
    if _BETWEEN.search(before):
        return "max"
    if before.endswith(("between", "entre", "zwischen")):
        return "min"
    for forms, bound in ((_MAX, "max"), (_MIN, "min")):
        if any(before.endswith(form) and not before[: -len(form)][-1:].isalnum() for form in forms):
            negated = re.search(
                r"\b(?:no|not|pas|nicht|kein\w*)\s$", before[: len(before) - len(_ending(before, forms))]
            )
            return {"max": "min", "min": "max"}[bound] if negated else bound
    if any(after.startswith(form) for form in _MAX_AFTER):
        return "max"
    return "min" if any(after.startswith(form) for form in _MIN_AFTER) else ""


def _ending(before: str, forms: Iterable[str]) -> str:
    return max((form for form in forms if before.endswith(form)), key=len, default="")


def _with_sums(found: list[Quantity], plain: str) -> list[Quantity]:
    """Adds `1 hour 30 minutes` as 90 minutes beside its parts."""
    ordered = sorted(found, key=lambda one: one.start)
    sums = []
    for one, two in itertools.pairwise(ordered):
        between = plain[one.end : two.start].strip(" ,")
        larger = one.kind == two.kind == "time" and min(one.scale) > max(two.scale)
        if larger and between in ("", "and", "et", "und", "y"):
            bases = frozenset(a + b for a in one.bases for b in two.bases)
            sums.append(Quantity(one.start, two.end, bases, "time", "s"))
        if one.kind == "money" and not two.kind and not between and max(two.values) < 100 and one.unit != "cent":
            values = frozenset(a + b / 100 for a in one.values for b in two.values)  # `deux euros cinquante`
            sums.append(Quantity(one.start, two.end, values, "money", one.unit))
    return ordered + sums
