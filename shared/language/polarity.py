"""Negation and opposites, by lists: which words a sentence denies. Pure.

English, French, Spanish and German, and the plainest forms of Italian, Portuguese and Dutch. Lists know the usual ways
to deny something and nothing of its meaning: a denial in other words is not noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from shared.language.analysis import fold, stems
from shared.language.packs import words_of_all

#: Phrases with a cue in them that deny nothing.
_HARMLESS = re.compile(
    r"\b(?:not (?:only|just|merely)|no (?:more|later|fewer|less|earlier|longer) than|not (?:more|later|less) than"
    r"|no matter|whether or not|or not|no doubt|no problem|non seulement|pas seulement|n est pas seulement|no solo"
    r"|nicht nur|sans doute|no obstante|nevertheless|nonetheless|n importe)\b"
)
#: Words that deny by their meaning what stands in their clause.
_NEGATIVE = re.compile(
    r"(?:fail|lack|refus|reject|forbid|forbad|prohibit|prevent|avoid|except|unless|only|stop|disabl|unable|imposs|unavail"
    r"|instead|rather|hardly|rarely|cancel|neither|den(?:y|ie)|exclud|manqu|interdi|empech|evit|sauf|seul"
    r"|uniquement|echou|prohib|rechaz|evita|excepto|salvo|solo$|solamente|imposib|verbot|verhind|vermeid|ausser|nur$"
    r"|unmog|abgelehnt|statt)"
)
#: `no prompt, reply or key`: the whole list is denied together with its verb.
_LISTED = re.compile(
    r"\b(no|aucune?|kein\w{0,2}|ningun\w?)((?:\s\w+){1,3}(?:,(?:\s\w+){1,3}){0,6},?\s(?:or|nor|and|ni|ou|oder|noch|o)\s)"
)
_CLAUSE = re.compile(
    r"[,;:()\u2013\u2014]|\s-\s|\b(?:and|but|or|if|when|because|which|that|unless|so|while|whereas|until|after|before|"
    r"although|since|where|who|et|mais|ou|si|quand|lorsque|parce|qui|que|dont|sauf|donc|tandis|afin|y|pero|cuando|porque|"
    r"und|aber|oder|wenn|weil|dass|falls|sondern|damit|bevor|nachdem)\b"
)
_TOKEN = re.compile(r"[^\W_]+")
#: Stems after a cue that it denies, and before one that denies backward.
_SCOPE = 5
#: Opposites: a word of one side in the place of a word of the other turns a sentence round. `~` ends a beginning.
_OPPOSITES = """
always toujours siempre immer | never jamais nunca nie niemals
allow~ permit~ accept~ autoris~ permet~ erlaub~ acept~ | forbid~ forbad~ refus~ reject~ prohib~ interdi~ verbot~ rechaz~
enabl~ activ~ aktivier~ habilit~ | disabl~ desactiv~ deaktivier~ deshabilit~
before avant vorher antes | after apres nachher despues
more plus mehr mas | fewer less moins weniger menos
increas~ grow~ rais~ augment~ aument~ erhoh~ | decreas~ reduc~ lower~ shrink~ diminu~ disminu~ senk~ verring~
required mandatory obligatory compulsory obligatoire obligatorio erforderlich | optional facultatif~ opcional freiwillig
open~ ouvert~ offen geoffnet abiert~ | close~ closing shut ferme~ geschlossen cerrad~
includ~ inclu~ enthalt~ | exclud~ exclu~ ausgeschlossen
start~ begin~ commenc~ debut~ empiez~ beginn~ | stop~ end ends ended ending termin~ endet
free gratuit~ gratis kostenlos | paid payant~ kostenpflichtig
public publi~ offentlich | private priv~
internal intern~ | external extern~
first premier premiere | last dernier derniere
largest longest highest newest latest biggest most | smallest shortest lowest oldest earliest least
synchronous~ | asynchronous~
all every tous toutes alle todos | none aucun keine ninguno
add~ ajout~ | remov~ delet~ supprim~ entfern~
succeed~ succes~ reuss~ | fail~ echou~
valid gultig valide valido | invalid ungultig invalide invalido
same meme gleich mismo | different differents differente
concurrently parallel simultaneously together | sequentially serially separately
above oben | below unten
online | offline
legal | illegal
safe | unsafe
possible moglich posible | impossible unmoglich imposible
available disponible verfugbar | unavailable indisponible
"""


class Negation(NamedTuple):
    """A cue and the first stems that it denies, the next one first; `determiner` as in `no fallback`.

    `clause` are the stems of the clause that it stands in.
    """

    stems: tuple[str, ...]
    determiner: bool
    clause: frozenset[str] = frozenset()
    cue: str = ""

    @property
    def of_verb(self) -> bool:
        """Whether more is denied than the noun after a preposition (`without flash`)."""
        return self.cue not in words_of_all("denying_prepositions")


class Polarity(NamedTuple):
    """What a sentence denies, which words it has that deny by their meaning, and its words.

    `clauses` are the stems of each clause, and those of its words that deny by their meaning.
    """

    negations: tuple[Negation, ...]
    denied: frozenset[str]
    positive: frozenset[str]
    negative_words: frozenset[str]
    words: frozenset[str]
    clauses: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()

    def negative_near(self, stems_: frozenset[str]) -> frozenset[str]:
        """The words that deny by their meaning in the clauses that have one of the stems."""
        return frozenset().union(*(negative for content, negative in self.clauses if not content.isdisjoint(stems_)))


@lru_cache(maxsize=4096)
def polarity(text: str, language: str) -> Polarity:
    """The polarity of a sentence; stems are taken by the rules of `language`."""
    plain = _HARMLESS.sub(
        " ", fold(" ".join(text.split())).lower().replace("'", " ").replace("’", " ").replace("n t ", "nt ")
    )
    plain = _LISTED.sub(lambda match: re.sub(r",|\b(?:or|nor|and|ni|ou|oder|noch|o)\s$", " ", match[0]), plain)
    negations: list[Negation] = []
    clauses: list[tuple[frozenset[str], frozenset[str]]] = []
    denied: set[str] = set()
    for clause in _CLAUSE.split(plain):
        tokens = _TOKEN.findall(clause)
        stemmed = [_content(token, language) for token in tokens]
        negative = frozenset(token for token in tokens if _NEGATIVE.match(token))
        clauses.append((frozenset(stem for stem in stemmed if stem), negative))
        for at, token in enumerate(tokens):
            if token in words_of_all("denials"):
                scope = _scope(token, stemmed[:at], stemmed[at + 1 :])
                if scope:
                    negations.append(Negation(scope, _before_noun(token, language), clauses[-1][0], token))
                    denied.update(scope)
    everything = frozenset().union(*(content for content, _ in clauses))
    negative = frozenset().union(*(words for _, words in clauses))
    spoken = frozenset(_TOKEN.findall(plain))
    return Polarity(tuple(negations), frozenset(denied), everything - denied, negative, spoken, tuple(clauses))


def _before_noun(cue: str, language: str) -> bool:
    """Whether the cue stands before a noun, as `no` does in English and not in Spanish."""
    return cue in words_of_all("denying_determiners") and not (cue == "no" and language in ("spa", "ita"))


def _scope(cue: str, before: list[str], after: list[str]) -> tuple[str, ...]:
    """The stems that a cue denies: what follows it; what stands before it after a German verb, or where nothing
    follows."""
    following = [stem for stem in after if stem][:_SCOPE]
    preceding = [stem for stem in reversed(before) if stem][:_SCOPE]
    if cue in words_of_all("denials_of_what_precedes"):
        return (*preceding, *following)
    return tuple(following or (preceding if cue in words_of_all("denying_determiners") else ()))


def turned_round(stated: Polarity, evidence: Polarity, context: frozenset[str] = frozenset()) -> frozenset[str]:
    """What a sentence denies and the evidence states in the same words, or the other way round; empty: nothing.

    `context` are stems that the evidence goes on from: what is denied must be said of the same thing.
    """
    return _denied_only_by(stated, evidence, context) or _denied_only_by(evidence, stated, frozenset())


def _denied_only_by(one: Polarity, other: Polarity, context: frozenset[str]) -> frozenset[str]:
    """What one sentence denies and the other one states, which has no way of its own to deny it."""
    for negation in one.negations:
        predicate = _predicate(negation)
        if not predicate or not predicate <= other.positive or not other.denied.isdisjoint(negation.stems):
            continue
        further = negation.clause - predicate - words_of_all("moods")
        if further and further.isdisjoint(other.positive | other.denied | context):
            continue
        negative = other.negative_near(predicate) - one.words
        if not negative or (negative <= words_of_all("only") and one.words.isdisjoint(words_of_all("others"))):
            return predicate
    return frozenset()


def opposed(stated: Polarity, evidence: Polarity) -> frozenset[str]:
    """The words of a sentence whose opposites the evidence has, where neither has both."""
    found: set[str] = set()
    for one, other in _opposites():
        for left, right in ((one, other), (other, one)):
            one_sided = not _having(stated.words, right) and not _having(evidence.words, left)
            if one_sided and _having(evidence.words, right):
                found.update(_having(stated.words, left))
    return frozenset(found)


def _predicate(negation: Negation) -> frozenset[str]:
    """The stems that must be shared for two sentences to speak of the same denied thing."""
    return frozenset(
        [stem for stem in negation.stems if stem not in words_of_all("moods")][: 2 if negation.determiner else 1]
    )


@lru_cache(maxsize=16_384)
def _content(token: str, language: str) -> str:
    if token in words_of_all("denials"):
        return ""
    found = stems(token, language)
    return found[0] if found and not found[0].isdigit() else ""


@lru_cache(maxsize=1)
def _opposites() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    pairs = (line.partition("|") for line in _OPPOSITES.strip().splitlines())
    return tuple((_side(left), _side(right)) for left, _, right in pairs)


def _side(listed: str) -> re.Pattern[str]:
    forms = (re.escape(form[:-1]) + r"\w*+" if form.endswith("~") else re.escape(form) for form in listed.split())
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})$")


def _having(spoken: Iterable[str], side: re.Pattern[str]) -> list[str]:
    return [word for word in spoken if side.match(word)]
