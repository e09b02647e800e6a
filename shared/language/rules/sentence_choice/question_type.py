"""What kind of answer a question asks for (a person, a time, an amount), and which statements contain one. Pure.

The cues are function words and common nouns of questions in English, French, Spanish, German, Italian, Portuguese and
Dutch. A question in another language has no kind, and is answered by its words alone.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from shared.language.analysis import normalise


class AnswerKind(StrEnum):
    """What a question asks for; `OTHER` when nothing tells."""

    PERSON = "person"
    TIME = "time"
    PLACE = "place"
    AMOUNT = "amount"
    REASON = "reason"
    METHOD = "method"
    OTHER = "other"


#: Phrases by kind, without accents and in lower case, tried in this order: `how many people` asks for an amount, not
#: for a person. A phrase is looked for between word boundaries.
_QUESTION_CUES: dict[AnswerKind, str] = {
    AnswerKind.AMOUNT: """
        how many|how much|how long|how old|how far|how large|how big|how tall|how high|how often|how fast|how deep
        how wide|how heavy|what percentage|what percent|what proportion|what number|what amount|what share|what size
        what is the population|what was the population|what fraction|what age|which number|what length|what price
        combien|quel age|a quel age|quelle quantite|quel pourcentage|quelle proportion|quel nombre|quelle taille
        quel montant|quelle part|quelle duree|quelle hauteur|quelle longueur|quel prix|quelle distance
        cuanto|cuanta|cuantos|cuantas|que porcentaje|que cantidad|que numero|que proporcion|que edad|que tamano
        que fraccion|cual es la poblacion|que altura|que distancia
        wie viele|wie viel|wieviel|wieviele|wie lange|wie alt|wie weit|wie gross|wie hoch|wie oft|wie schnell
        wie tief|wie breit|wie schwer|wie vielen|wie vieler|welcher prozentsatz|welcher anteil|welche anzahl
        wie teuer|welche menge|wie lang|wie haufig|welche hohe|welche zahl
        quanto|quanta|quanti|quante|quale percentuale|che percentuale|quale numero|che eta|quale quota|quale importo
        quantos|quantas|que percentagem|qual a percentagem|qual o numero|qual e o numero|que idade
        hoeveel|hoe lang|hoe oud|hoe ver|hoe groot|hoe hoog|hoe vaak|hoe snel|hoe diep|welk percentage|welk aantal
        cost|costs|price|fee|fees|coute|coutent|prix|tarif|frais|kostet|preis|gebuhr
        cuesta|cuestan|precio|tarifa|costa|costano|prezzo|tariffa|custa|custam|preco|kost|prijs""",
    AnswerKind.TIME: """
        when|what year|which year|what date|which date|what day|which day|what month|which month|what century
        which century|what decade|which decade|what time|what era|what period|since when|until when|what years
        quand|quelle annee|en quelle annee|quelle date|quel jour|quel mois|quel siecle|quelle heure|quelle epoque
        cuando|que ano|que fecha|que dia|que mes|que siglo|que decada|que hora|que epoca|que anos
        wann|welchem jahr|welches jahr|welchem datum|welchem tag|welchem monat|welchem jahrhundert|welcher zeit
        welches datum|welchen jahren|welchem jahrzehnt|um wie viel uhr|seit wann|bis wann|welches jahrhundert
        che anno|quale anno|che data|quale data|che giorno|quale giorno|quale mese|che secolo|quale secolo|a che ora
        que data|qual data|em que ano|que seculo|em que dia|qual ano|qual o ano|quale decennio|qual seculo
        wanneer|welk jaar|welke datum|welke dag|welke maand|welke eeuw|hoe laat|welk decennium""",
    AnswerKind.PERSON: """
        who|whom|whose|which person|what person|what is the name of the person|qui|quelle personne|quelles personnes
        quien|quienes|que persona|wer|wem|wen|wessen|welche person|chi|quale persona|quem|que pessoa|qual pessoa
        wie is|wie was|wie heeft|wie werd|wie zijn|wie waren|wie kan|wie mag|wie moet|welke persoon|wiens""",
    AnswerKind.PLACE: """
        where|what city|which city|what country|which country|what state|what place|what location|which place
        what region|what town|what continent|which state|what street|which region|ou|d'ou|quelle ville|quel pays
        quel endroit|quelle region|quel lieu|quel continent|donde|adonde|que ciudad|que pais|que lugar|que region
        que continente|que estado|wo|wohin|woher|welcher stadt|welche stadt|welchem land|welches land|welchem ort
        welchem staat|welcher region|welchem kontinent|dove|quale citta|che citta|quale paese|quale luogo|quale stato
        onde|aonde|que cidade|que pais|qual cidade|qual pais|waar|waarheen|welke stad|welk land|welke plaats""",
    AnswerKind.REASON: """
        why|what is the reason|for what reason|what reason|what caused|what causes|how come|pourquoi|quelle raison
        quelles raisons|quelle est la cause|por que|que razon|cual es la razon|warum|weshalb|wieso|aus welchem grund
        welchen grund|welcher grund|perche|quale motivo|per quale ragione|porque|qual o motivo|waarom|welke reden""",
    AnswerKind.METHOD: """
        how do|how can|how to|how does|how did|how is|how are|how should|how would|how was|how were|in what way
        comment|de quelle maniere|de quelle facon|como|de que manera|de que forma|wie|auf welche weise|come|in che modo
        hoe|op welke manier|what is the procedure|what are the steps|what command""",
}

_MONTH = (
    "january|february|march|april|june|july|august|september|october|november|december|janvier|fevrier|mars|avril|"
    "juin|juillet|aout|septembre|octobre|novembre|decembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
    "septiembre|octubre|noviembre|diciembre|januar|februar|marz|juni|juli|oktober|dezember|gennaio|febbraio|aprile|"
    "maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|maio|junho|julho|setembro|outubro|dezembro|"
    "januari|februari|maart|mei|augustus"
)
_DAY = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|"
    "lunes|martes|miercoles|jueves|viernes|sabado|domingo|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|"
    "lunedi|martedi|mercoledi|giovedi|venerdi|sabato|domenica|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|"
    "zondag"
)
_ERA = (
    "century|centuries|decade|decades|siecle|siecles|siglo|siglos|decada|jahrhundert|jahrhunderts|jahrhunderte|"
    "jahrzehnt|secolo|secoli|seculo|seculos|eeuw|eeuwen|ago|yesterday|today|tomorrow|midnight|noon|every year|weekly|"
    "daily|monthly|annually"
)
_TIME = re.compile(rf"\b(?:1\d{{3}}|20\d\d|\d{{1,2}}:\d\d|{_MONTH}|{_DAY}|{_ERA}|\d{{2,4}}s|\d+(?:th|nd|rd|st))\b")
_SMALL_NUMBERS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|million|"
    "millions|billion|billions|half|twice|once|dozen|third|quarter|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|"
    "douze|vingt|trente|cent|mille|moitie|tiers|quart|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|"
    "veinte|treinta|cien|mil|millones|mitad|tercio|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|zwanzig|"
    "dreissig|hundert|tausend|millionen|milliarden|halfte|drittel|viertel|due|tre|quattro|cinque|sei|sette|otto|nove|"
    "dieci|undici|dodici|venti|cento|mila|milioni|meta|dois|duas|quatro|sete|oito|dez|vinte|milhoes|metade|twee|drie|"
    "vijf|zes|zeven|negen|tien|twaalf|twintig|honderd|duizend|miljoen|helft|"
    "free|gratis|gratuit|gratuite|gratuits|gratuites|gratuitement|kostenlos|kostenfrei|gratuito|gratuita"
)
#: Words that ask for an amount of money; a passage that answers may say `free` or name the amount without them.
_PRICE = frozenset(
    (
        *("cost", "costs", "price", "prices", "fee", "fees", "coute", "coutent", "prix", "tarif", "tarifs", "frais"),
        *("kostet", "kosten", "preis", "gebuhr", "cuesta", "cuestan", "precio", "tarifa", "costa", "costano"),
        *("prezzo", "tariffa", "custa", "custam", "preco", "kost", "prijs"),
    )
)
_AMOUNT = re.compile(rf"\d|\b(?:{_SMALL_NUMBERS})\b")
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|caused by|as a result|therefore|reason|reasons|thus|"
    r"parce que|parce qu|car|puisque|afin de|afin que|en raison|a cause|grace a|raison|raisons|porque|ya que|debido|"
    r"puesto que|para que|a causa|razon|gracias a|weil|denn|aufgrund|wegen|damit|da sie|da es|da er|da die|um|grund|"
    r"perche|poiche|a causa|dovuto|motivo|grazie a|pois|por causa|devido|omdat|doordat|vanwege|zodat|reden)\b"
)
_METHOD = re.compile(
    r"\b(?:by|using|use|with|via|through|run|set|call|click|add|pass|en|avec|par|grace|utilisez|cliquez|mediante|"
    r"con|por|usando|utilice|durch|mit|indem|mittels|verwenden|attraverso|tramite|con|usare|com|atraves|door|met|"
    r"gebruik)\b|`"
)
#: What an amount or a time is counted in: cues of the question, and what an answer then shows.
_UNITS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(rf"\b(?:{asked})\b"), re.compile(shown))
    for asked, shown in (
        (
            r"percent|percentage|pourcentage|prozent|prozentsatz|porcentaje|percentuale|percentagem|percentage|procent",
            r"%|\b(?:percent|per cent|pour cent|prozent|por ciento|per cento|por cento|procent)",
        ),
        (
            r"how long|how old|what age|combien de temps|quel age|quelle duree|cuanto tiempo|que edad|wie lange|"
            r"wie alt|quanto tempo|che eta|quanti anni|que idade|quantos anos|hoe lang|hoe oud",
            r"\b(?:year|month|week|day|hour|minute|second|decade|centur|an|annee|mois|semaine|jour|heure|ano|mes|semana|"
            r"dia|hora|minuto|segundo|jahr|monat|woche|tag|stunde|sekunde|settiman|mese|giorn|ora|ore|anni|semana|maand|"
            r"uur|jaar|dag)",
        ),
        (
            r"what year|which year|quelle annee|que ano|en que ano|welchem jahr|welches jahr|che anno|quale anno|"
            r"qual ano|welk jaar",
            r"\b(?:1\d{3}|20\d\d)\b",
        ),
        (
            r"how much money|how much does|how much did|price|cost|costs|prix|coute|cuesta|costo|precio|dinero|kostet|"
            r"preis|geld|prezzo|costa|preco|custa|dinheiro|prijs|kost",
            r"[$€£¥]|\b(?:dollar|euro|pound|franc|dolar|libra|pfund|cent|free|gratis|gratuit|kostenlos|kostenfrei)",
        ),
    )
)
#: Words that ask which of several: the next word says of what.
_DETERMINERS = re.compile(
    r"\b(?:what|which|how many|quels?|quelles?|combien de|que|cual|cuales|cuant[oa]s|welche[rsmn]?|was fur|"
    r"wie viele[rn]?|quale|quali|che|quant[ie]|qual|quais|quant[oa]s|welke?|hoeveel) ((?:\w+ ?){1,3})"
)
#: A number that is a year or a day of a month is no amount.
_DATE = re.compile(rf"\b(?:(?:{_MONTH}) \d{{1,2}}\b|\d{{1,2}}\.? (?:de |of )?(?:{_MONTH})|1\d{{3}}|20[0-2]\d)\b")
#: A capital letter inside the text: a name, or in German any noun.
_NAME = re.compile(r"(?<=[\w,;:«(\"'’] )[\"'«(]?[^\W\d_a-z][\w'’-]+")

#: A word with a capital letter that does not begin a sentence, or one with a digit.
_NAMED = re.compile(r"(?<=[^.?!¿¡\s\"“„«] )[\"“„«(]?(?=[^\W\d_])(?![a-zà-öø-ÿß])[\w'’-]++|\b[^\W\d_]{0,20}\d[\w.,-]*+")


def kind_of(question: str) -> AnswerKind:
    """What the question asks for."""
    return _kind_of(" ".join(normalise(question).replace("’", "'").split()))


def focus_words(question: str) -> str:
    """The words behind `which`, `how many` and the like, normalised: what the answer is one of; often empty."""
    match = _DETERMINERS.search(" ".join(normalise(question).split()))
    return match[1].strip() if match else ""


def unit_of(question: str) -> re.Pattern[str] | None:
    """What an answer has if the question asks for a unit (a percentage, a duration, a year, money); None if not."""
    asked = " ".join(normalise(question).split())
    return next((shown for cue, shown in _UNITS if cue.search(asked)), None)


def has_unit(shown: re.Pattern[str], text: str) -> bool:
    """Whether a statement has the unit that a question asks for."""
    return bool(shown.search(normalise(text)))


def named_words(question: str) -> list[str]:
    """The words of a question that name something: with a capital letter inside a sentence, or with a digit.

    In German these are all nouns.
    """
    return _NAMED.findall(question)


def price_words(question: str) -> list[str]:
    """The words of the question that only say that it asks for a price."""
    return [word for word in re.findall(r"\w+", normalise(question)) if word in _PRICE]


@lru_cache(maxsize=1024)
def _kind_of(asked: str) -> AnswerKind:
    best: tuple[int, int] | None = None
    found = AnswerKind.OTHER
    for order, (kind, pattern) in enumerate(_patterns().items()):
        match = pattern.search(asked)
        # The cue that comes first decides; of two at the same place, the kind that is listed first.
        if match and (best is None or (match.start(), order) < best):
            best, found = (match.start(), order), kind
    return found


@lru_cache(maxsize=1)
def _patterns() -> dict[AnswerKind, re.Pattern[str]]:
    split = {kind: re.split(r"[|\n]", cues) for kind, cues in _QUESTION_CUES.items()}
    return {
        kind: re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(cue.strip()) for cue in cues if cue.strip())})(?!\w)")
        for kind, cues in split.items()
    }


def contains(kind: AnswerKind, text: str) -> bool:
    """Whether a statement contains something of that kind."""
    if kind in (AnswerKind.PERSON, AnswerKind.PLACE):
        return bool(_NAME.search(text))
    if kind == AnswerKind.AMOUNT:
        return bool(_AMOUNT.search(_DATE.sub(" ", normalise(text))))
    pattern = {
        AnswerKind.TIME: _TIME,
        AnswerKind.REASON: _REASON,
        AnswerKind.METHOD: _METHOD,
    }.get(kind)
    return bool(pattern and pattern.search(normalise(text)))
