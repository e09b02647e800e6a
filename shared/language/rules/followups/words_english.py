"""English word lists of the query-rewriting rules."""

from __future__ import annotations

from shared.language.rules.followups.topics import word_set

WH = word_set("what which who whom whose when where why how")
AUXILIARIES = word_set(
    "is are was were am be been being do does did has have had can could should would will shall may might must "
    "isn't aren't wasn't weren't don't doesn't didn't can't couldn't shouldn't wouldn't won't hasn't haven't"
)
COPULAS = word_set("is are was were isn't aren't wasn't weren't")
ARTICLES = word_set("the a an")
DETERMINERS = ARTICLES | word_set("this that these those my your our his her its their some any each every no another")
PREPOSITIONS = word_set(
    "of in on at for with without from to into onto about by as than between among against during before after "
    "under over through within across around near behind besides beyond since until per via like versus vs"
)
CLAUSE = word_set("and or but if because while when where which who that so then whether although though")

#: Relational nouns: they need a complement (the causes of X).
RELATIONAL = word_set(
    "type types kind kinds sort sorts form forms version versions variety varieties class classes category "
    "categories example examples instance instances part parts component components element elements layer layers "
    "member members feature features characteristic characteristics property properties aspect aspects theme "
    "themes character characters history origin origins root roots background beginning creation founder founders "
    "author authors inventor creator owner owners cause causes reason reasons effect effects impact impacts "
    "consequence consequences result results outcome outcomes implication implications symptom symptoms sign "
    "signs treatment treatments cure cures remedy remedies diagnosis risk risks danger dangers benefit benefits "
    "advantage advantages disadvantage disadvantages drawback drawbacks pro pros con cons strength strengths "
    "weakness weaknesses limitation limitations use uses usage application applications purpose purposes role "
    "roles function functions goal goals aim aims objective objectives importance significance meaning definition "
    "difference differences similarity similarities relationship alternative alternatives option options "
    "requirement requirements condition conditions rule rules criteria step steps stage stages phase phases "
    "deadline deadlines cost costs price prices fee fees rate rates amount size length duration age population "
    "capital location address hours finding findings contribution contributions achievement achievements success "
    "successes failure failures argument arguments criticism criticisms ingredient ingredients source sources "
    "side-effects"
)
#: Words before a relational noun that are not its complement.
LIGHT = word_set(
    "main major key primary principal important most more less common typical usual general different various "
    "other similar good better best bad worse worst big bigger biggest large largest small smallest famous "
    "popular possible potential many much few several some any first second third last next new old current "
    "recent early modern traditional basic essential exact actual real long-term short-term side positive "
    "negative overall the a an all specific particular great greatest interesting notable significant useful as "
    "of"
)
_LIGHT_ENDINGS = ("ical", "ional", "mental", "ogical", "iest", "matic")
#: Words that begin the complement of a relational noun.
COMPLEMENTS = word_set("of for between with behind among to that when if you i we")
#: Relational nouns that always have a complement.
KINDS = word_set("type types kind kinds sort sorts variety varieties")
EXAMPLES = word_set("example examples instance")
#: Nouns whose complement follows `for`.
FOR = word_set(
    "deadline deadlines requirement requirements reason reasons treatment treatments cure cures remedy remedies "
    "alternative alternatives criteria fee fees condition conditions option options"
)
#: Verbs in the form that follows do, does, did, can, will; a noun phrase ends before them.
VERBS = word_set(
    "work works happen occur come go get make take give use need want help affect influence change cause lead "
    "begin start stop end live die eat drink grow develop spread treat prevent cure cost pay buy sell differ "
    "compare relate mean include contain involve require become form produce create build found invent discover "
    "design choose select play win lose run move travel fly swim hunt sleep learn teach study read write speak "
    "say tell show find know think believe consider feel look see hear keep hold put set let bring send receive "
    "apply register renew cancel change close open expire last belong exist appear disappear increase decrease "
    "reduce improve convert transform replace remove add support provide offer serve protect attack defend fight "
    "kill save store collect share spend earn raise lower cut break repair fix clean wash cook bake heat cool "
    "freeze melt burn shift switch turn adapt evolve reproduce survive migrate communicate interact contribute "
    "participate govern rule control manage operate have be carry damage weigh celebrate impact call kill relieve "
    "help try ask answer act allow announce appeal apply arrive avoid become behave bite borrow breathe breed "
    "calculate catch cite claim climb collapse combine complete consist consume continue cross damage decide "
    "deliver depend describe destroy detect determine die differ disappear earn enter escape establish explain "
    "explode express face fail fall feed float follow forget function generate govern happen harm hurt identify "
    "ignore illustrate implement inform inspire invest join judge jump kill lack land launch lay leave lend lie "
    "limit look lose love maintain make match measure meet melt mind miss mix monitor mutate obtain offer orbit "
    "organise organize own pass perform persuade pick plan point predict prefer prepare prove publish punish push "
    "react reach refer refuse regulate reject release rely remain request respond return ride rise sail scale "
    "secure settle shape shine shrink sing sink sit sound stand stay steal stick struggle succeed suffer suggest "
    "suit support surround swim talk taste tax test thrive throw touch track trade train transmit trigger trust "
    "turn understand unite value vary visit vote wait wake walk warn watch wear win wonder worry"
)
#: Verbs that follow what and who without an auxiliary.
PAST_AND_PRESENT = word_set(
    "causes caused makes made happened happens invented discovered founded created started developed wrote built "
    "led won improves improved influences influenced affects affected triggers triggered makes designed owns runs "
    "defines"
)
PARTICIPLES = word_set(
    "found made born held known used grown given sold built seen taken written shown done bred eaten drawn chosen "
    "called spoken driven worn won run begun"
)
#: Polite openings of a request.
TELLING = r"(?:please |can you |could you |i(?:'d| would) like to |ok(?:ay)?[,.]? )*"
#: Words of remarks, which no later pronoun can refer to.
REMARKS = word_set(
    "ok okay thanks thank great wow hmm oh ah yes no yeah sure right interesting cool nice good seems sounds "
    "really well extreme fine sorry know see expected expect sense makes thing lot exciting surprising amazing "
    "funny sad wanted want meant hello hi please too just basic easy"
)


def is_light(word: str) -> bool:
    """Whether the word, before a relational noun, is not its complement."""
    return word in LIGHT or word in DETERMINERS or word.endswith(_LIGHT_ENDINGS)


def is_verb(word: str) -> bool:
    """Whether it is a form of one of the common verbs (`s`, `ed`, `ing`)."""
    return any(
        base in VERBS
        for ending, more in (("", ""), ("s", ""), ("es", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"))
        if word.endswith(ending)
        for base in (word.removesuffix(ending) + more,)
    )


def is_plural(phrase: str) -> bool:
    """Whether the phrase is plural, by the ending of its last word."""
    last = phrase.partition(" of ")[0].split()[-1:] or [""]
    word = last[0].casefold()
    return word in ("people", "men", "women", "children", "mice", "criteria") or (
        word.endswith("s") and not word.endswith(("ss", "us", "is", "ics", "'s", "’s")) and len(word) > 3
    )
