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
    "spa": """a al algo alguna algunas alguno algunos algún ante antes aquel aquella aquellas aquello aquellos aquí
        así aunque aún bajo cada como con contra cual cuales cualquier cuando cuya cuyo cuál cuáles cuándo
        cuánta cuántas cuánto cuántos cómo de del desde donde durante dónde e el ella ellas ello ellos en entre
        era eran eres es esa esas ese eso esos esta estar estas este esto estos está están fue fueron ha haber
        había habían han has hasta hay he la las le les lo los luego me mediante mi mis mucho muchos muy más
        nada ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero por porque puede pueden
        puedo pues que quien quienes quién quiénes qué se sea según ser será si sido sin sino sobre sois solo
        son soy su sus sí sólo también tan tanto te tener tengo tiene tienen toda todas todo todos tras tu tus
        tú un una unas uno unos usted ustedes y ya yo él""",
    "por": """a ainda algo algum alguma algumas alguns ante ao aos apenas após aquela aquelas aquele aqueles aquilo
        as até cada com como contra cuja cujo da das de dela delas dele deles depois desde deve do dos durante e
        ela elas ele eles em enquanto entre era eram essa essas esse esses esta estas estava este estes está
        estão eu foi foram há isso isto já la lhe lhes lo mais mas me mediante mesmo meu meus minha minhas muito
        muitos na nas nem nenhum no nos nossa nosso num numa não nós o onde os ou outra outras outro outros para
        pela pelas pelo pelos pode podem por porque posso pouco quais qual qualquer quando quanta quantas quanto
        quantos que quem quê se seja sem sempre ser será seu seus si sido sob sobre sua suas são também te tem
        ter tinha toda todas todo todos tu tão têm um uma umas uns você vocês vos à às é""",
    "deu": """ab aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus außer
        bei beim bin bis bist da dabei dadurch dafür damit danach dann daran darauf daraus darin darüber das
        dass davon dazu dein deine dem den denen denn der deren des dessen die dies diese diesem diesen dieser
        dieses doch dort du durch durfte ein eine einem einen einer eines einige einigen er es etwa etwas euch
        euer für gegen gibt hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer ihres im in indem ins ist ja jede jedem jeden jeder jedes jene jener jetzt kann kannst kein
        keine keinem keinen keiner konnte konnten können machen man manche mein meine meinem meinen meiner mich
        mir mit muss musste müssen nach neben nicht nichts noch nun nur ob oder ohne sehr sein seine seinem
        seinen seiner seines seit selbst sich sie sind so sodass sogar solche soll sollen sollte sondern sowie
        um und uns unser unsere unter viel viele vielen vieler vieles vom von vor wann war waren warum was weder
        weil welche welchem welchen welcher welches wem wen wenn wer werde werden weshalb wessen wie wieso
        wieviel wieviele will wir wird wirst wo wobei wodurch wofür woher wohin womit worden worin wovon wozu
        wurde wurden würde würden zu zum zur zwar zwischen über""",
    "ita": """a abbiamo agli ai al alcune alcuni all alla alle allo anche ancora avere aveva avevano ben c che chi
        ci come con contro cosa così cui da dagli dai dal dall dalla dalle dallo degli dei del dell della delle
        dello dentro di dopo dov dove due durante e ed era erano essere fa fino fra fu furono già gli ha hai
        hanno ho i il in infatti io l la le lei li lo loro lui ma me mentre mi mia miei mio molti molto ne negli
        nei nel nell nella nelle nello niente no noi non nostra nostro o od ogni oltre oppure per perché perciò
        più piú posso possono prima proprio può qual quale quali qualsiasi quando quant quanta quante quanti
        quanto quasi quel quell quella quelle quelli quello quest questa queste questi questo quindi s se
        secondo sei sempre senza si sia siamo siano siete solo sono sopra sotto sta stata state stati stato
        stessa stesso su sua sue sugli sui sul sull sulla sulle sullo suo suoi ti tra tu tua tue tuo tutta tutte
        tutti tutto un una uno v verso vi viene voi è""",
    "nld": """aan al alle alleen allerlei alles als altijd ander andere anders ben bij binnen daar daarom dan dat
        de der deze die dit doch doen door dus echter een eens elk elke en enige er ge geen geweest haar had
        hadden heb hebben hebt heeft hem hen het hier hij hoe hoeveel hun iemand iets ik in is ja je jij jouw
        jullie kan kon konden kunnen maar me meer men met mij mijn moest moet moeten na naar naast niet niets
        nog nu of om omdat onder ons onze ook op over reeds sinds te tegen tijdens toch toen tot tussen u uit uw
        vaak van vanaf vanuit veel via volgens voor vooral waar waarbij waardoor waarin waarom waarop waarvan
        wanneer want waren was wat we wel welk welke werd werden wie wiens wij wil word worden wordt zal ze zei
        zelf zich zij zijn zo zoals zonder zou zouden zullen""",
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


def function_word_votes(text: str, candidates: Collection[str]) -> dict[str, int]:
    """How many words of the text are function words of each language; accents count, as in `guess_language`."""
    tokens = _WORD.findall(text[:4000].casefold())
    return {code: sum(map(stop_words(code).__contains__, tokens)) for code in candidates}


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
    m mm mme mmes mlle mlles me mgr pr env ex réf ref tél tel av bd chap n° janv févr avr juil déc
    mio mrd bzw ca nr z.b u.a d.h usw jh jhd hl hr fr str abs bspw evtl ggf inkl max min od o.ä s.o s.u sog vgl zzgl chr
    sra srta srs dña ud uds ee.uu a.c d.c aprox núm pág págs p.ej sig sigg dott dott.ssa avv ing es pag pagg sec
    exmo exma av.ª dhr mevr bijv blz enz i.p.v o.a t.o.v"""
_ABBREVIATIONS = frozenset(_SHORTENED.split())
#: Abbreviations after which a sentence ends if a capital follows.
_MAY_END_WORDS = """al etc inc ltd co corp u.s u.k jr a.m p.m no me usw enz es min max od ee.uu a.c d.c chr str"""
_MAY_END = frozenset(_MAY_END_WORDS.split())
#: In German, Danish and Norwegian a day or a century is a number with a period: `am 8. Februar`, `im 19. Jahrhundert`.
_COUNTED = re.compile(
    r"(?:jan|feb|mär|mar|apr|mai|maj|juni|juli|aug|sep|okt|dez|des|jahr|jh|jh\.|geburtstag|auflage|klasse|platz)",
    re.IGNORECASE,
)
_ORDINAL_BEFORE = frozenset(["am", "vom", "zum", "beim", "dem", "den", "der", "des", "im", "zur", "ab", "bis", "und"])
#: A line that begins so goes on with the sentence before it: inline code, roles, brackets.
_WITHIN = frozenset("`:([<")
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
    continues = following.islower() or following in _WITHIN
    return len(line) < _WRAPPED and not line.endswith((",", ";", "-")) and not continues


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
    if found and (_is_initial(found[1]) or _is_ordinal(before[: found.start(1)], word, rest)):
        return False
    return word not in _ABBREVIATIONS or (word in _MAY_END and rest[0].isupper())


def _is_initial(word: str) -> bool:
    return len(word) == 1 and word.isalpha() and word.isupper()


def _is_ordinal(before: str, word: str, rest: str) -> bool:
    """Whether a number with a period is counted (`8. Februar`): by the word after it, or by the article before it."""
    article = before.split()[-1:]
    return (
        word.isdigit()
        and len(word) <= 2
        and (bool(_COUNTED.match(rest)) or (bool(article) and article[0].casefold() in _ORDINAL_BEFORE))
    )
