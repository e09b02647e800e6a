"""Text analysis for every stage: sentences with offsets, words, stems, and a simple guess of the language.

Pure and fast (500 characters in tens of microseconds), with no model. Languages are ISO 639-3 (`eng`, `fra`); `und`
means unknown.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Collection, Iterable
from functools import cache, lru_cache

import Stemmer

from shared.text.languages import UNKNOWN

#: ISO 639-3 -> the name of the language in Snowball.
SNOWBALL: dict[str, str] = {
    "ara": "arabic",
    "dan": "danish",
    "deu": "german",
    "ell": "greek",
    "eng": "english",
    "fin": "finnish",
    "fra": "french",
    "hun": "hungarian",
    "ita": "italian",
    "nld": "dutch",
    "nor": "norwegian",
    "por": "portuguese",
    "ron": "romanian",
    "rus": "russian",
    "spa": "spanish",
    "swe": "swedish",
    "tur": "turkish",
}

#: Function words: they are dropped from stems, and `guess_language` counts them.
_FUNCTION_WORDS: dict[str, str] = {
    "eng": """a about after again all also am an and any are aren as at be because been before being between both but
        by can could couldn did didn do does doesn doing don down during each few for from further had hadn has hasn
        have haven having he her here hers him his how i if in into is isn it its just ll me more most my no nor not
        of off on once only or other our ours out over own re s same she should shouldn so some such t than that the
        their theirs them then there these they this those through to too under until up ve very was wasn we were
        weren what when where which while who whom why will with won would wouldn you your yours""",
    "fra": """à ai ainsi alors as au aucun aussi autre aux avait avant avec avez avoir ayant c ce ceci cela celle
        celles celui ces cet cette ceux chaque ci comme comment d dans de depuis des donc dont du elle elles en encore
        entre es est et étaient étant était êtes être eu eux fait fut hors ici il ils j je jusqu l la là le les leur
        leurs lors lui m ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par parce pas pendant peu
        plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si sinon soit son
        sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y""",
    "spa": """a al algo ante antes como con contra cómo cuál cual cuando cuándo de del desde donde dónde durante e el
        ella ellos en entre era es esa ese eso esta está este esto están fue ha han hasta hay la las le les lo los más
        me mi mis muy nada ni no nos o otra otro para pero por porque qué que quién quien se ser si sí sin sobre son
        su sus también te tiene todo tu un una uno unos y ya yo""",
    "por": """a ao aos as até com como da das de dela dele do dos e ela ele eles em entre era essa esse esta está este
        eu foi há isso isto já lhe mais mas me meu minha muito na nas não nem no nos nós o os ou para pela pelo por
        qual quando que quem são se sem ser seu sua também te tem um uma você vocês""",
    "deu": """aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein dem den der des die dies
        diese dieser doch du durch ein eine einem einen einer eines er es euch für hat haben hatte hier ich ihm ihn
        ihr im in ist ja kann kein keine können man mein mich mir mit muss nach nicht noch nun nur ob oder ohne sehr
        sein seine sich sie sind so über um und uns unser unter vom von vor war warum was wenn wer werden wie wir wird
        wo zu zum zur""",
    "ita": """a ai al alla alle anche che chi ci come con cosa da dal dalla degli dei del della delle di dove e è ed
        era fra gli ha hai hanno ho i il in io la le lei lo loro lui ma mi mio ne nei nel nella non nostro o per
        perché più quale quando quella quello questa questo se sei si sia sono su sua sul suo tra tu un una uno vi
        voi""",
    "nld": """aan al als bij daar dan dat de der deze die dit doch door een en er ge geen haar had heb hebben heeft
        hem het hier hij hoe hun iets ik in is ja je kan kon maar me meer men met mij mijn moet na naar niet niets nog
        nu of om onder ons ook op over te tegen toch tot u uit uw van veel voor waar waren was wat we werd wie wij wil
        worden zal ze zei zich zij zijn zo zonder""",
    "swe": """alla att av blev den denna dess det detta dig din du där efter ej eller en ett för från han hans har
        henne hon hur här i icke in inte jag kan man med mig min mot mycket ni nu någon när och om på sedan sig sin
        ska som så till under upp ut var vad vi vid vilken än är över""",
    "dan": """af alle at blev da de dem den denne der det dette dig din du efter eller en end er et for fra ham han
        hans har havde hun hvad hvor i ikke ind jeg kan man med meget men mig min ned nogle nu når og også om op os på
        sig skal som til ud under var vi vil være""",
    "nor": """alle at av ble da de den denne der det dette din du eller en enn er et etter for fra ha han hans har hun
        hva hvor hvordan i ikke inn jeg kan kunne man med meg men min mot må ned noe nå når og også om opp oss på seg
        skal som til ut var vi vil være""",
    "fin": """ei eivät että hän he ja jo joka jos kanssa kuin kun me mikä minä mitä mutta myös ne niin nyt ole olen
        oli on ovat se sekä sen siitä sinä tai tämä te vai vain voi""",
    "tur": """ama ben bir biz bu çok da daha de değil en gibi hem her için ile ise kadar ki mi ne neden o olan olarak
        sen siz şu ve veya ya""",
    "ron": """a al am ar are au ca care cât ce cei cel cu cum da dacă de din după ea ei el este eu fi fost în la mai
        nu o pe pentru prin sau se și spre sunt un unei unui va""",
    "hun": """a az csak de egy én és ez ha hogy hogyan is itt ki kell lehet meg mert mi mint nem olyan ők s sem
        szerint te vagy van volt""",
    "rus": """а без был была были было быть в вам вас весь во вот все вы где да для до его ее если есть еще же за и из
        или им их к как когда кто ли меня мне мы на над не него нет но ну о об он она они от по под при с со так там
        те то только ты у уже что чтобы это эта этот я""",
    "ell": """αλλά αν από αυτό για δεν είναι ενώ επί η ή θα και κατά με μετά μη μια να ο οι όπως ότι που πρέπει προς
        πώς σε στη στην στο στον τα τη την της τι το τον του των ως""",
    "ara": """أو إلى إن أن أنا التي الذي على عن في قد كان كل كما كيف لا لم ما متى من هذا هذه هل هو هي و يا""",
}

_MARKS = re.compile("[\u0300-\u036f]+")
_UNFOLDED = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "đ": "d", "ł": "l", "ı": "i", "’": "'"})
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Han: each character counts as a word
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
#: A word as it was typed, with its hyphens and apostrophes.
_TYPED_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def fold(text: str) -> str:
    """The text without accents: `é` -> `e`, `œ` -> `oe`; marks of other scripts are letters and stay."""
    if text.isascii():
        return text
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text.translate(_UNFOLDED)))
    return unicodedata.normalize("NFC", plain)


def normalise(text: str) -> str:
    """The form to compare texts in: compatibility forms resolved (NFKC), no case, no accents."""
    if text.isascii():
        return text.lower()
    return fold(unicodedata.normalize("NFKC", text).casefold())


def words(text: str) -> list[str]:
    """The words of the text in order, normalised: letters and digits only, so `l'impôt` gives `l`, `impot`."""
    return _WORD.findall(normalise(text))


def stems(text: str, language: str = UNKNOWN) -> list[str]:
    """The stems of all words but function words, in order and with repetitions, without accents.

    `language` is ISO 639-3. For other languages the English rules are used, which leave most foreign words unchanged.
    """
    code = language if language in SNOWBALL else "eng"
    text = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    dropped = stop_words(code)
    kept = [word for word in _WORD.findall(text) if word not in dropped]
    stemmed: list[str] = _stemmer(SNOWBALL[code]).stemWords(kept)
    # Stemmed before accents are removed, because the rules of French and other languages depend on them.
    return stemmed if text.isascii() else fold(" ".join(stemmed)).split(" ") if stemmed else []


@lru_cache(maxsize=4096)  # the passages and titles that answer many questions are stemmed once
def stem_set(text: str, language: str = UNKNOWN) -> frozenset[str]:
    """The distinct stems of a text, as `stems` gives them; cached."""
    return frozenset(stems(text, language))


def all_stems(texts: Iterable[str], language: str = UNKNOWN) -> frozenset[str]:
    """The distinct stems of several texts."""
    return frozenset().union(*(stem_set(text, language) for text in texts))


def search_words(question: str, language: str, answered: frozenset[str]) -> str:
    """The question for another search, after an answer with the stems `answered` was not good enough.

    These are its words as typed and in order, without those that only carry grammar. Words that the answer does not
    contain also stand at the beginning, so that they weigh double in the search. A question of grammar only is
    returned unchanged.
    """
    kept: list[str] = []
    missing: list[str] = []
    for word in _TYPED_WORD.findall(question):
        found = stems(word, language)
        if found and word not in kept:
            kept.append(word)
            if not answered.issuperset(found):
                missing.append(word)
    if len(missing) == len(kept):
        missing = []
    return " ".join((*missing, *kept)) or question


@cache
def stop_words(language: str) -> frozenset[str]:
    """The function words of a language, with and without accents; empty when it is not known."""
    listed = _FUNCTION_WORDS.get(language, "").split()
    return frozenset(listed) | frozenset(map(fold, listed))


_local = threading.local()


def _stemmer(name: str) -> Stemmer.Stemmer:
    """One stemmer per thread, because stemmers are not thread-safe."""
    own: dict[str, Stemmer.Stemmer] = _local.__dict__
    if name not in own:
        own[name] = Stemmer.Stemmer(name)
    return own[name]


def guess_language(text: str, candidates: Collection[str] = ()) -> str:
    """The language whose function words the text uses most, ISO 639-3; `und` when the vote is weak or a tie.

    `candidates` narrows the vote (empty: all of `SNOWBALL`). Reads the first 4,000 characters. Needs a few words of
    running text: a title or a keyword stays `und`.
    """
    tokens = _WORD.findall(text[:4000].casefold())
    if not tokens:
        return UNKNOWN
    known = [code for code in (candidates or SNOWBALL) if code in _FUNCTION_WORDS]
    votes = sorted(((sum(map(stop_words(code).__contains__, tokens)), code) for code in known), reverse=True)
    if not votes:
        return UNKNOWN
    best, winner = votes[0]
    second = votes[1][0] if len(votes) > 1 else 0
    weak = best < 2 or best < 0.12 * len(tokens) or best == second
    return UNKNOWN if weak else winner


#: Texts of fewer words are too short to tell their language.
_LANGUAGE_WORDS = 5
#: The evidence for another language: so many of its own function words, this share of all words, and this many times
#: as many as the expected language has of its own.
_OWN_WORDS, _OWN_SHARE, _OWN_TIMES = 2, 0.1, 2.0
#: Related languages (Danish and Norwegian, for example) share so many function words that one of them having this
#: share of the other's votes means that the text may be in either.
_RELATED_SHARE = 0.8
#: Code, addresses and what stands in quotes is in no language.
_NO_PROSE = re.compile(r"```[^`]*+```|`[^`\n]*+`|https?://\S++|\[\d{1,3}\]")


def written_language(text: str, expected: str) -> str:
    """The language a text is written in, ISO 639-3: `expected` unless the text is clearly in another one.

    Only words that the expected language does not use speak for another one: `a` and `per` are Italian, and English.
    A text of fewer than five words, or with fewer than two such words, or one that related languages could claim,
    counts as `expected`. Code and addresses do not count.
    """
    spoken = words(_NO_PROSE.sub(" ", text[:4000]))
    if len(spoken) < _LANGUAGE_WORDS:
        return expected
    own = stop_words(expected)
    if not own:
        guessed = guess_language(text)
        return expected if guessed == UNKNOWN else guessed
    at_home = sum(word in own for word in spoken)
    rivals = []
    for code in SNOWBALL:
        votes = [word for word in spoken if word in stop_words(code)]
        foreign = [word for word in votes if word not in own and len(word) > 1]
        rivals.append((len(votes), len(foreign), len(set(foreign)), code))
    most, others, distinct, code = max(rivals)
    if code == expected or distinct < _OWN_WORDS or others < max(_OWN_WORDS, _OWN_SHARE * len(spoken)):
        return expected
    exclusive = sum(word in own and word not in stop_words(code) for word in spoken)
    clearly = others >= _OWN_TIMES * exclusive and at_home < _RELATED_SHARE * most
    return code if clearly else expected


def may_be_in(text: str, language: str) -> bool:
    """Whether the text may be in that language: false only if it is clearly in another one.

    Nothing can be ruled out for a language whose function words are not known.
    """
    return not stop_words(language) or written_language(text, language) == language


_BULLET = re.compile(r"[ \t]*(?:[-*+•–—‣▪◦·]|\(?\d{1,3}[.)]|\(?[a-z]\))[ \t]+")
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'»”’)\]]*+(?=\s|$)|[。！？]+[」』”）]*|\n")
_LAST_WORD = re.compile(r"(?<![^\s(\[«\"“'])([^\s(\[«\"“']*+)$")

#: Abbreviations after which a period does not end a sentence: titles, references, and words before a number or name.
_SHORTENED = """mr mrs ms dr prof st ste vs e.g i.e cf fig figs eq sec sect no nos vol ed eds pp p ch art al approx dept
    gov gen sen rep rev hon jr sr inc ltd co corp ave blvd rd jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k
    m mm mme mmes mlle mlles me mgr pr env ex réf ref tél tel av bd chap n° janv févr avr juil déc"""
_ABBREVIATIONS = frozenset(_SHORTENED.split())
#: Abbreviations after which a sentence ends if a capital follows.
_MAY_END = frozenset(["al", "etc", "inc", "ltd", "co", "corp", "u.s", "u.k", "jr", "sr", "a.m", "p.m", "no", "me"])
#: A line shorter than this, followed by a line that begins like a sentence, was not wrapped to fit a page.
_WRAPPED = 60


def sentences(text: str) -> list[tuple[int, int]]:
    """The sentences as `(start, end)` offsets, in order, without surrounding white space and list markers.

    Blank lines and list items always start a new sentence; line breaks that only wrap the text do not.
    """
    spans: list[tuple[int, int]] = []
    begin = 0
    for mark in _END.finditer(text):
        if mark.end() <= begin:
            continue
        ends = _line_ends(text, begin, mark.start()) if mark[0] == "\n" else _point_ends(text, mark)
        if ends:
            _add(spans, text, begin, mark.end())
            begin = mark.end()
    _add(spans, text, begin, len(text))
    return spans


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    marker = _BULLET.match(text, start, end)
    if marker and marker.end() < end:
        start = marker.end()
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def _line_ends(text: str, begin: int, at: int) -> bool:
    following = text[at + 1 : at + 2]
    if not following or following == "\n" or _BULLET.match(text, at + 1):
        return True
    line_begin = max(begin, text.rfind("\n", 0, at) + 1)
    line = text[line_begin:at].strip()
    if not line or not text[at + 1 : text.find("\n", at + 1) % (len(text) + 1)].strip():
        return True
    return len(line) < _WRAPPED and not line.endswith((",", ";", "-")) and not following.islower()


def _point_ends(text: str, mark: re.Match[str]) -> bool:
    rest = text[mark.end() : mark.end() + 6].lstrip().lstrip("\"'«“‘([ \u00a0")
    if not rest or mark[0][0] in "。！？":
        return True
    if rest[0].islower():
        return False
    if mark[0] != ".":
        return True
    line_begin = text.rfind("\n", 0, mark.start()) + 1
    before = text[max(line_begin, mark.start() - 24) : mark.start()]
    if (
        before.strip().isdigit()
        and len(before.strip()) <= 3
        and not text[line_begin : mark.start()].strip(" \t0123456789")
    ):
        return False  # the number of a list item
    found = _LAST_WORD.search(before)
    word = found[1].casefold() if found else ""
    if len(word) == 1 and word.isalpha() and found and found[1].isupper():
        return False  # an initial
    return word not in _ABBREVIATIONS or (word in _MAY_END and rest[0].isupper())
