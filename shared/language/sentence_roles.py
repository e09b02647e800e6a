"""What a sentence of an answer does: it states something, leads in, says yes or no, says what is missing, refers. Pure.

Only statements need a source. A sentence that says what the documents lack is true where they lack it; a referral may
name only what has a source. Known by their forms in English, French, Spanish and German.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from shared.language.analysis import fold, stem_set
from shared.language.quantities import quantities


class Role(Enum):
    """What a sentence does."""

    CLAIM = "claim"
    LEAD_IN = "lead-in"
    YES = "yes"
    NO = "no"
    ABSENCE = "absence"
    REFERRAL = "referral"


class ReadSentence(NamedTuple):
    """A sentence's role, and what of it is left to check (of `Yes, it is free.` the part after the comma)."""

    role: Role
    rest: str


_DOCUMENTS = (
    r"(?:passages?|documents?|documentation|sources?|pages?|texts?|extracts?|excerpts?|information|materials?|articles?"
    r"|extraits?|textes?|informations?|documentos?|pasajes?|textos?|paginas?|fuentes?|informacion|dokumente?n?|quellen?"
    r"|passagen|textstellen|seiten?|unterlagen|auszuge?n?|texten?)"
)
_TELL = (
    r"(?:say|says|mention|mentions|mentioned|state|states|stated|specify|specifies|specified|contain|contains|include"
    r"|includes|give|gives|given|provide|provides|provided|cover|covers|covered|describe|describes|described|explain"
    r"|explains|explained|indicate|indicates|indicated|tell|tells|address|answer|list|listed|disent|dit|dits"
    r"|mentionnent"
    r"|mentionne|mentionnee?s?|precisent|precise|precisee?s?|indiquent|indique|indiquee?s?|contiennent|contient"
    r"|donnent|donne|expliquent|explique|parlent|parle|decrivent|decrit|dicen|dice|mencionan|menciona|especifican"
    r"|especifica|indican|indica|contienen|contiene|explican|explica|sagen|sagt|erwahnen|erwahnt|nennen|nennt|genannt"
    r"|enthalten|enthalt|geben|gibt|angegeben|beschreiben|beschreibt|erklaren|erklart)"
)
_NOT = (
    r"(?:do not|does not|don.?t|doesn.?t|did not|is not|are not|isn.?t|aren.?t|not|no|ne|n.|pas|nicht|kein\w*|nothing"
    r"|nowhere|rien|nichts|nada)"
)
_GAP = r"[^.!?\n]{0,60}?"
_ABSENT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_DOCUMENTS}\b{_GAP}\b{_NOT}\b{_GAP}\b{_TELL}\b",  # The passages do not say …
        rf"\b{_DOCUMENTS}\b\s(?:\w+\s){{0,3}}?{_TELL}\b{_GAP}\b{_NOT}\b",
        rf"\b{_NOT}\b{_GAP}\b{_TELL}\b{_GAP}\b(?:in|by|dans|par|en|por|in)\s(?:\w+\s){{0,3}}{_DOCUMENTS}\b",
        rf"^(?:there is|i (?:have|found|see)|there.?s)\sno\s{_DOCUMENTS}\b",
        rf"^(?:i|we)\s(?:could not|cannot|can.?t|couldn.?t|did not|didn.?t)\sfind\b{_GAP}\b{_DOCUMENTS}\b",
        rf"^no\s{_DOCUMENTS}\b{_GAP}\b(?:available|given|provided|found|{_TELL})\b",
        rf"^il n.?y a (?:pas|aucune?) (?:d.)?{_DOCUMENTS}\b",
        rf"^(?:je n.?ai|on ne) \w* ?(?:pas|rien) \w*trouve\w*\b{_GAP}\b{_DOCUMENTS}\b",
        rf"^no (?:hay|se encuentra|encontre) {_GAP}\b{_DOCUMENTS}\b",
        rf"^es gibt keine {_GAP}\b{_DOCUMENTS}\b",
        rf"\b(?:steht|stehen|findet sich|finden sich)\b{_GAP}\bnicht\b{_GAP}\b{_DOCUMENTS}\b",
    )
)
_REFERRAL = re.compile(
    r"^(?:(?:for|pour|para|fur)\s(?:any\s|more\s|further\s|other\s|additional\s|detailed\s|plus\s|toute\s|d\s|de\s|en\s"
    r"|mas\s"
    r"|weitere\s|weiteren\s|obtener\s)*(?:information|informations|details?|questions?|help|assistance|autre|aide"
    r"|informacion"
    r"|detalles?|ayuda|informationen|fragen|einzelheiten|savoir)\b"
    r"|(?:please\s|you\s(?:can|may)\s(?:also\s)?|then\s)?(?:contact|consult|visit|check|read|refer to|see|ask|call"
    r"|write to|email)\b"
    r"|(?:veuillez\s|vous pouvez\s(?:aussi\s)?)?(?:contacte[zr]|consulte[zr]|visite[zr]|voir|voyez|appele[zr]"
    r"|ecrivez|lisez|lire)\b"
    r"|(?:por favor\s|puede\s(?:tambien\s)?)?(?:contacte|consulte|consultar|visite|visitar|vea|llame|escriba"
    r"|contactar)\b"
    r"|(?:bitte\s)?(?:wenden|kontaktieren|besuchen|lesen|siehe|schreiben|rufen|weitere informationen|mehr dazu)\b)"
)
_PARTICLE = re.compile(r"^[\s*_>-]*+(yes|no|oui|non|si|ja|nein)(?!\w)[*_]*+\s*+[,.:;!–—-]?\s*+")
_LEADING = re.compile(r"([^:\n|`]{3,80}?)\s?:\s+(?=\S)")
_YES = frozenset(("yes", "oui", "si", "ja"))
_FILLER = re.compile(
    r"^(?:sure|certainly|of course|absolutely|great question|thank you|thanks|hello|hi|bonjour|merci|bien sur"
    r"|volontiers"
    r"|claro|por supuesto|hola|gracias|naturlich|gerne?|danke|hallo|in short|in summary|en bref|en resume|en resumen"
    r"|kurz gesagt|i hope this helps|let me know if|n hesitez pas|no dude en|zogern sie nicht)\b"
)
#: Stems that lead in, refer or ask and say nothing of a subject; of all four languages together.
PLAIN_STEMS = frozenset(
    fold(word)
    for language, listed in {
        "eng": """here need follow following step steps way ways list listed option options answer answers question
            questions detail details information more what can do does must should get know how as this these
            there are is point points main key summary short overview below thing things several some two three
            four five six first next also example requirement requirements available use using used please see
            contact visit read check help find page pages website site documentation document documents passage
            passages ask say call directly section further look us support team staff office hope let know want
            need needs required long often far much many soon take takes about around total approximately get
            getting according based provide provided explain describe mean means different possible include
            includes including""",
        "fra": """voici voila ce dont besoin suivant suivante suivants suivantes etape etapes facon facons liste option
            options reponse question questions detail details information informations plus faut devez pouvez il y
            a principaux principales resume bref aide page pages site document documents passage passages
            consulter consultez contacter contactez voir lire trouver visitez visiter ci-dessous choses veuillez
            obtenir savoir nous equipe service exemple selon necessaire combien longtemps voici faut souvent quand
            quel quelle quels quelles""",
        "spa": """aqui esto necesita necesitas siguiente siguientes paso pasos manera maneras lista opcion opciones
            respuesta pregunta preguntas detalle detalles informacion mas puede debe resumen ayuda pagina paginas
            sitio documento documentos consulte contacte visite vea lea continuacion cosas obtener equipo ejemplo
            segun es lo que saber cuanto cuanta cuantos cuantas""",
        "deu": """hier das folgende folgenden folgendes schritt schritte weise liste option optionen antwort frage
            fragen einzelheiten information informationen mehr brauchen benotigen konnen mussen zusammenfassung
            hilfe seite seiten dokument dokumente kontaktieren besuchen lesen siehe finden unten wenden bitte team
            beispiel laut lange viel viele oft weitere weiter was ist wissen""",
    }.items()
    for word in stem_set(listed, language)
)


@lru_cache(maxsize=4096)
def read_sentence(text: str) -> ReadSentence:
    """The role of a sentence, without looking at any source."""
    said = _without_lead_in(text.strip().strip("*_ ").strip())
    plain = _flat(said)
    particle = _PARTICLE.match(plain)
    if particle and (len(particle[0]) == len(plain) or particle[0].rstrip()[-1:] in ",.:;!–—-"):
        rest = said[len(particle[0]) :].strip()
        return ReadSentence(Role.YES if particle[1] in _YES else Role.NO, rest)
    if any(pattern.search(plain) for pattern in _ABSENT):
        return ReadSentence(Role.ABSENCE, said)
    if _REFERRAL.match(plain):
        return ReadSentence(Role.REFERRAL, said)
    if said.endswith((":", "：")) or _FILLER.match(plain):
        return ReadSentence(Role.LEAD_IN, said)
    return ReadSentence(Role.CLAIM, said)


def _without_lead_in(text: str) -> str:
    """`Here is what you need: a photo.` -> `a photo.`; a beginning that names a subject stays."""
    begin = _LEADING.match(text)
    if begin and any(not subject_of(begin[1], language) for language in ("eng", "fra", "spa", "deu")):
        return text[begin.end() :]
    return text


def states_absence(text: str) -> bool:
    """Whether the sentence says that the documents lack something."""
    return read_sentence(text).role is Role.ABSENCE


def subject_of(text: str, language: str) -> frozenset[str]:
    """The stems of a lead-in, a referral or an absence that name a subject, without those of its form."""
    return frozenset(stem for stem in stem_set(_flat(_without_form(text)), language) if stem not in PLAIN_STEMS)


def has_figures(text: str) -> bool:
    """Whether it has a number that more than counts what follows."""
    return any(quantity.kind or max(quantity.values) > 12 for quantity in quantities(text))


def _without_form(text: str) -> str:
    """An absence without the words that say that something is absent."""
    plain = _flat(text)
    for pattern in _ABSENT:
        found = pattern.search(plain)
        if found:
            return f"{plain[: found.start()]} {plain[found.end() :]}"
    return plain


def _flat(text: str) -> str:
    """Folded, in lower case, every character in its place as far as folding allows."""
    flat = "".join(fold(char)[:1].lower() or " " for char in text)
    return flat.replace("’", "'").replace("'", " ")
