"""What instructions to a language model look like: cues with weights, in English, French, Spanish and German.

A cue is a pattern over one normalized sentence (`shared.text.normalizer`). No single word is one: a cue needs a verb
and what it is applied to, such as *ignore* and *previous instructions*. What honest texts also say, such as *you are
a …*, has a small weight, and counts only together with other cues. The classes follow those that surveys of prompt
injection distinguish (Perez and Ribeiro 2022, "Ignore previous prompt"; Greshake et al. 2023, "Not what you've signed
up for"; Liu et al. 2024, "Formalizing and benchmarking prompt injection attacks"). Every pattern runs in linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from shared.text.normalizer import normalize

#: Up to three, five or eight words in between.
_G3, _G5, _G8 = (rf"(?:[^ ]++ ){{0,{most}}}?" for most in (3, 5, 8))


class Cue(NamedTuple):
    """A sign of an instruction to a model.

    `kind` is its class: of each class only the heaviest cue of a text counts. `directed`: it counts only where the
    sentence tells its reader to do something, not where somebody asks about it. `documents`: it counts only in texts
    that were not written to a model, such as pages, where nobody has a reason to speak to one.
    """

    kind: str
    weight: float
    pattern: re.Pattern[str]
    signs: tuple[str, ...]
    directed: bool = False
    documents: bool = False


def cue(kind: str, weight: float, signs: str, pattern: str, *, directed: bool = False, documents: bool = False) -> Cue:
    return Cue(kind, weight, re.compile(rf"(?<= )(?:{pattern})"), tuple(signs.split("|")), directed, documents)


# Words of several cues.
_RULES_EN = (
    r"(?:instructions?|prompts?|guidelines?|directives?|rules|programming|training|guardrails|constraints|restrictions"
    r"|directions|system message|polic(?:y|ies)|safety \w+|commands|orders|limitations|settings) "
)
_OWN_EN = r"(?:your|all|any|every|these|those|the|my|our) "
_PRIOR_EN = r"(?:previous|prior|preceding|above|earlier|foregoing|former|past|initial|original|existing|system) "
_FORGET_EN = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overlook|overrid(?:e|ing)|discard(?:ing)?|abandon|neglect"
    r"|bypass(?:ing)?|dismiss|set aside|pay no attention to|do not (?:follow|obey|comply with|adhere to)"
    r"|dont (?:follow|obey|comply with)|stop (?:following|obeying)|throw (?:away|out)|leave behind|put aside"
    r"|deviat(?:e|ing) from|contrary to|violate|erase|delete|drop|leave|let go of|clear|wipe|strike) "
)
_FORGET_FR = (
    r"(?:ignor(?:e|es|ez|er|ant|ons)|oubli(?:e|es|ez|er|ons)|neglig(?:e|ez|er)|abandonn(?:e|ez|er)|effac(?:e|ez|er)"
    r"|contourn(?:e|ez|er)|outrepass(?:e|ez|er)|fai(?:s|tes) abstraction d(?:e|es)|ne (?:tiens|tenez|tenir) "
    r"(?:pas|plus|aucun) compte d(?:e|es)|ne (?:suis|suivez|respecte|respectez) (?:pas|plus)|laiss(?:e|ez) tomber) "
)
_RULES_FR = r"(?:instructions?|consignes?|regles?|directives?|ordres|commandes|contraintes|restrictions|prompts?) "
_PRIOR_FR = (
    r"(?:precedent(?:e?s)?|anterieur(?:e?s)?|initial(?:e?s)|initiaux|ci dessus|d origine|recues|donnees|systeme"
    r"|d avant|qui precedent) "
)
_FORGET_ES = (
    r"(?:ignor(?:a|e|en|ar|es)|olvid(?:a|e|en|ar|es)|descart(?:a|e|ar)|omit(?:a|e|ir)|desobedec\w{1,3}"
    r"|no sigas) "
)
_RULES_ES = r"(?:instruccion(?:es)?|indicaciones|reglas|ordenes|directrices|prompt|normas|restricciones|tareas) "
_FORGET_DE = (
    r"(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen|missachte\w{0,2}|missacht(?:e|en)|verwirf|umgehe"
    r"|ubergeh(?:e|en)"
    r"|lass|setz\w{0,2} dich uber|halte dich nicht (?:mehr )?an) "
)
_RULES_DE = (
    r"(?:aufgaben|anweisung\w{0,2}|instruktion\w{0,2}|befehle?n?|regeln?|vorgaben|richtlinien|prompts?|auftrage?) "
)
_PRIOR_DE = (
    r"(?:vorherig\w{0,2}|vorig\w{0,2}|bisherig\w{0,2}|vorangehend\w{0,2}|vorangegangen\w{0,2}|obig\w{0,2}"
    r"|fruher\w{0,2}"
    r"|ursprunglich\w{0,2}|dein\w{0,2}|ihr\w{0,2}|all\w{0,2}|samtlich\w{0,2}) "
)
CUES: tuple[Cue, ...] = (
    # To lift what was said before.
    cue(
        "override",
        3.0,
        "instruction|prompt|guideline|directive|rules|programming|training|guardrail|constraint"
        "|restriction|direction|system message|polic|safety|command|order|limitation|setting",
        rf"{_FORGET_EN}(?:about )?(?:(?:all|any|each|every|everything|none) )?(?:(?:of|in|from) )?{_G3}"
        rf"(?:{_PRIOR_EN}(?:[^ ]++ ){{0,3}}{_RULES_EN}|(?:your|all|any|all the|all of the|these|those) (?:own "
        rf"|other )?"
        rf"(?:ethical |safety |content |internal |moral )?{_RULES_EN}"
        rf"|(?:the )?(?:[^ ]++ ){{0,2}}?(?:system prompt|safety policies|safety policy|safety guidelines|safety"
        rf" rules|content policy) |{_RULES_EN}(?:above|before|you (?:were|have been|had been|got|received)|so"
        rf" far|given))",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        "forget|ignor|disregard|erase|scrap",
        r"(?:forget|ignor(?:e|ing)|disregard(?:ing)?|erase|scrap) (?:about )?(?:everything|anything|all(?:"
        r" of)?(?: that)?"
        r"|whatever|what) (?:(?:that )?(?:(?:you|i|we) (?:(?:have|ve) )?(?:said|told|were told|been told|know"
        r"|learned|"
        r"wrote|read|just)|(?:was|were|is|came|has been) (?:said|written|stated|above|before|told)|(?:written "
        r"|said )?"
        r"above|before|prior to|previously|else|so far|up to|until|and) )",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        "forget|ignor|disregard",
        r"(?:(?:but|then|just|now|please|so|and|stop) )?(?:forget|ignore|disregard) (?:about )?"
        r"(?:everything|it all|all(?: of)? (?:that|this|it)|the above|above|the foregoing|the preceding|previous"
        r"|all above)(?: (?:and|instead|then|write|say|print|now|tell|answer|output)\b)? ",
        directed=True,
    ),
    cue(
        "override",
        2.0,
        "chat|orders|assignment|"
        "context|document|article|source|text|information|content|conversation|task|statement|words|input",
        rf"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overlook|neglect|discard) (?:{_G3}(?:{_PRIOR_EN}"
        rf"|provided |given "
        r"|supplied )(?:[^ ]++ ){0,2}|all (?:of )?(?:the |these )?|the )(?:contexts?|documents?|articles?"
        r"|sources?|texts?|information"
        r"|content|conversation|chat|tasks?|assignments?|statements?|words|inputs?|orders) ",
        directed=True,
    ),
    cue(
        "override",
        2.5,
        "knowledge",
        r"(?:your )?own knowledge (?:and )?not (?:by|from|with|on) (?:the )?"
        r"(?:articles?|documents?|context|sources?|passages?) ",
    ),
    cue(
        "override",
        3.0,
        "directive|instruction|prompt|rules|guideline|programming|identity",
        r"(?:chang|replac|rewrit|updat|reset|overwrit|modify|supersed)(?:e|es|ing)? your (?:[^ ]++"
        r" )?(?:instructions?|prompts?|rules"
        r"|guidelines?|programming|identity|directives?) ",
        directed=True,
    ),
    cue(
        "override",
        2.5,
        "lifted|null|void|irrelevant|obsolete|no longer|cancel|suspended|superseded|not relevant|invalid|over",
        rf"(?:all |the |your |any )?(?:{_PRIOR_EN}|your )(?:instructions|rules|prompts?|directives?|tasks|orders"
        rf"|guidelines|"
        rf"restrictions) {_G3}(?:irrelevant|not relevant|obsolete|no longer (?:apply|valid|count|active|in"
        rf" effect)|void|"
        r"cancel(?:l)?ed|suspended|superseded|lifted|invalid|overridden|null) ",
    ),
    cue(
        "override",
        3.0,
        "instruction|consigne|regle|directive|ordre|commande|contrainte|restriction|prompt",
        rf"{_FORGET_FR}{_G3}{_RULES_FR}(?:[^ ]++ ){{0,2}}?{_PRIOR_FR}|{_FORGET_FR}(?:completement |donc "
        rf"|maintenant )?"
        rf"(?:toutes |tous |tout )?(?:tes|vos) {_RULES_FR}|{_FORGET_FR}(?:toutes|tous) (?:les |ces )?{_RULES_FR}",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        "passages|tout|ce qui|precede|texte|document|contexte",
        r"(?:oubliez?|ignorez?|oublions) (?:absolument |donc )?(?:tout(?:e|es)? (?:ce )?(?:qui |que |le reste|et"
        r" |ca )|tout "
        r"|ce qui precede |ce qui est (?:ecrit|dit) |le(?:s)? (?:texte|contexte|document|documents|passages) )",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        "cuanto|olvidar|ignoren|olvida|olvide|ignora|ignore|"
        "instruccion|indicacion|regla|orden|directri|prompt|norma|restriccion|tarea|todo lo|lo anterior",
        rf"{_FORGET_ES}(?:por favor |ahora )?(?:por completo )?(?:todas?|todos|todo|las|los|tus|sus|cualquier"
        rf"|mis) {_G3}(?:{_RULES_ES})"
        r"|(?:olvid(?:a|e|en|ar)|ignor(?:a|e|en)) (?:todo|lo anterior|cuanto|esto y) ",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        "bisherige|ignorieren|vergessen|"
        "anweisung|instruktion|befehl|regel|vorgabe|richtlinie|prompt|auftrag|aufgaben|alles|davor|vorher|obige",
        rf"{_FORGET_DE}{_G3}{_PRIOR_DE}(?:[^ ]++ ){{0,2}}?{_RULES_DE}|(?:vergiss|vergessen sie|ignoriere?"
        rf"|ignorieren sie) (?:bitte |nun |jetzt )?"
        r"(?:alles|all das|das obige|das bisherige|den (?:obigen |bisherigen )?(?:text|kontext)) "
        rf"|(?:abweichend|entgegen|im gegensatz|trotz) (?:zu |von )?(?:den |der |allen )?{_PRIOR_DE}{_RULES_DE}"
        r"|obigen? (?:[^ ]++ ){1,3}?(?:ignorieren|vergessen|missachten) ",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        "istruzioni|regole|instrucoes|regras|instructies|opdrachten|instrukcij|instrukcj|polecen",
        r"(?:ignora(?:re|te)?|dimentica(?:re|te)?|esqueca|esquecer|ignore|negeer|vergeet|zaboravi(?:te)?"
        r"|ignorira\w|zapomnij|zignoruj|ignoruj) "
        r"(?:[^ ]++ ){0,4}?(?:istruzioni|regole|instrucoes|regras|instructies|opdrachten|instrukcij\w|instrukcje"
        r"|polecenia) ",
        directed=True,
    ),
    cue(
        "override",
        3.0,
        normalize("инструкции|инструкций|указания|правила").strip().replace(" ", "|"),
        rf"(?:{'|'.join(normalize('забудь забудьте игнорируй игнорируйте отмени').split())}) (?:[^ ]++ ){{0,4}}?"
        rf"(?:{'|'.join(normalize('инструкции инструкций указания правила').split())}) ",
    ),
    # To show what is hidden.
    cue(
        "reveal",
        3.0,
        "prompt|system message|instruction|guideline|rules|directive|configuration|programming|message systeme",
        r"(?:show|print|reveal|output|display|repeat|tell|give|leak|list|return|expose|share|recite|copy|dump"
        r"|paste|write"
        r"|know|see|read|encode|disclose|divulge|provide|spell|summari[sz]e|translate|what (?:is|are|were|was)"
        r"|whats) "
        rf"{_G5}(?:(?:your|the|this|its) (?:[^ ]++ )?(?:system|initial|hidden|secret|internal|base|full|entire"
        rf"|complete|original|exact"
        r"|confidential|starting|first) (?:prompts?|messages?|instructions?|guidelines|rules|directives?"
        r"|configuration)"
        r"|your (?:own |full )?(?:prompts?|programming) |(?:your|the) (?:[^ ]++ )?(?:instructions?|guidelines?"
        r"|rules|directives?"
        r"|prompts?) (?:[^ ]++ )?(?:verbatim|word for word|above|you (?:were|have been|got|received) |given to"
        r" you|that were given"
        r"|before this|in full))",
    ),
    cue(
        "reveal",
        2.5,
        "prompt|prompts|instruction|task|order|command|sentence|line|word|text|message|lines|mot",
        r"(?:show|print|return|reveal|output|display|repeat|spell ?check|spell|list|view|recite|give|leak|dump)"
        r" (?:me |us |out )?(?:all )?(?:of )?(?:your|the) (?:[^ ]++ ){0,2}?prompts?(?: texts?)? $|how (?:do|does"
        r"|did) (?:your|the) (?:[^ ]++ ){0,3}?prompts? (?:texts? )?look "
        r"|what (?:are|were|was|is) your (?:[^ ]++ )?(?:initial|original|previous|prior|current|exact|hidden"
        r"|first) (?:instructions?|tasks?|orders?|prompts?|commands?) "
        r"|(?:what|which) (?:are|were|is|was) the (?:[^ ]++ ){0,3}?(?:sentences?|lines?|words?|texts?"
        r"|instructions?|messages?|prompts?) (?:[^ ]++ ){0,2}?(?:before|above|preceding) (?:this (?:text|line"
        r"|sentence|question|message|prompt)|the text|my (?:message|question)) "
        r"|(?:repete|repetez|recopie|recopiez|ecris|donne|donnez) (?:moi )?(?:[^ ]++ ){0,2}?mot pour mot (?:[^"
        r" ]++ ){0,3}?(?:instructions|consignes|prompt|message) ",
    ),
    cue(
        "reveal",
        3.0,
        "systemprompt|prompt",
        r"(?:system ?prompt|prompt ?text\w{0,2}|full prompt|entire prompt|initial prompt"
        r"|hidden prompt|whole prompt)"
        r" (?:verbatim|word for word|above|please|in full|here|text|now|to me|anzeigen|zeigen|ausgeben)"
        r"|copy of (?:the |your )?(?:full |entire |whole |complete )?(?:system )?prompt "
        r"|(?:all|everything|full|complete) (?:of )?(?:the )?prompt texte?",
    ),
    cue(
        "reveal",
        3.0,
        "far|preceding|context|chat|conversation|above|before|beginning|start|top|prompt",
        r"(?:repeat|print|output|write out|copy|recite|echo|reproduce|return) (?:back )?(?:everything|all(?:"
        r" of)?(?: the)? (?:text|words|"
        r"content|sentences|lines|instructions)|the (?:text|words|content|sentences?|lines|above|instructions)"
        r"|what (?:is|was)|"
        r"whatever) (?:[^ ]++ ){0,3}?(?:above|before|preceding|so far|at the (?:start|top|beginning)|in (?:the"
        r"|your) prompt)"
        r"|(?:what|which|everything|text|words|sentences|lines) (?:[^ ]++ ){0,5}?(?:above|before|at the"
        r" (?:beginning|start|top) of|in) "
        r"(?:this|the|your|our) (?:prompt|conversation|chat|context window) "
        r"|(?:beginning|start|top) of (?:the|your|this|our) (?:prompt|chat|context) |information in the prompt ",
    ),
    cue(
        "reveal",
        3.0,
        "directives|prompt|message|instruction|consigne|invite",
        r"(?:montre|montrez|affiche|affichez|revele|revelez|donne|donnez|repete|repetez|ecris|ecrivez|imprime"
        r"|dis|dites"
        r"|recopie|recopiez|quel(?:le)?s? (?:est|sont)|traduis|resume|communique|divulgue) (?:moi |nous )?(?:[^"
        r" ]++ ){0,4}?"
        r"(?:(?:ton|votre|le|ta|tes|vos|les) (?:prompt|prompts|invite|message|instructions|consignes|directives) "
        r"(?:systeme|initiale?s?|cachee?s?|secr\w{2,4}|d origine|complet\w{0,2}|de depart|entier\w{0,2}|internes?)"
        r"|(?:ton|votre|tes|vos) prompts? )",
    ),
    cue(
        "reveal",
        3.0,
        "prompt|instruccion|mensaje de sistema|reglas",
        r"(?:muestra(?:me)?|muestre(?:me)?|dime|revela(?:me)?|repite|imprime|escribe|cuales son) (?:[^ ]++"
        r" ){0,4}?(?:tus|sus|tu|su|el|las) "
        r"(?:(?:instrucciones|reglas|mensaje) (?:de sistema|del sistema|ocult\w{2}|secret\w{2}|iniciales"
        r"|internas|originales)|prompt )",
    ),
    cue(
        "reveal",
        3.0,
        "vorher|texte|prompt|anweisung|instruktion|oben|anfang|davor|system",
        r"(?:zeige?|zeigen sie|gib|geben sie|verrate?|verraten sie|nenne?|drucke|wiederhole|kopiere) (?:[^ ]++"
        r" ){0,5}?"
        r"(?:(?:den |deinen |ihren |die |deine |ihre |des )?(?:[^ ]++ )?(?:system)?prompt\w{0,5} |(?:deine|ihre"
        r"|die) (?:geheimen |ursprunglichen |"
        r"versteckten |internen |obigen |vorherigen )(?:anweisungen|instruktionen|texte?))"
        r"|(?:was|welche\w{0,2}) (?:[^ ]++ ){0,3}?(?:steht|stand|geschrieben) (?:[^ ]++ ){0,2}?(?:davor|vorher"
        r"|oben im prompt|am anfang des prompt\w{0,2}) "
        r"|(?:kopie|wortlaut|text) (?:des|vom|deines) (?:[^ ]++ )?prompt\w{0,6} ",
    ),
    # To lift what a model may not do.
    cue(
        "lift",
        2.0,
        "mechanisms|unconstrained|standards|"
        "safety|content|programming|safeguards|restriction|guideline|filter|limit|constraint|polic"
        "|boundar|rules|guardrail|protocol|moderation|censor|ethic"
        "|moral|norms|concerns",
        r"(?:without|no|free (?:of|from)|ignor(?:e|ing)|remov(?:e|ing)|disabl(?:e|ing)|turn(?:ing)? off"
        r"|lift(?:ing)?|bypass(?:ing)?|circumvent(?:ing)?|evad(?:e|ing)"
        r"|get(?:ting)? around|regardless of|unbound by|not bound by|unconstrained by|outside) (?:any |all |your"
        r" |the |its |of |my ){0,6}+"
        r"(?:ethical|moral|content|safety|openai|censorship|built in|ai|usual|typical) (?:and \w+ |or \w+"
        r" )?(?:restrictions?|guidelines?|filters?|limits?|"
        r"limitations?|constraints?|polic(?:y|ies)|boundaries|rules|guardrails?|protocols?|mechanisms?"
        r"|considerations?|standards|concerns|norms) "
        r"|(?:free (?:of|from)|without|unbound by|ignoring) (?:all )?(?:of )?your (?:[^ ]++ )?(?:guidelines"
        r"|rules|restrictions|programming|constraints|filters|limits) "
        r"|(?:safety|content|ethical|ethics|moral) (?:filters?|guards?|guidelines|restrictions|rules|checks"
        r"|protocols) (?:are |is |were |being )?(?:turned |switched )?(?:off|disabled|removed|lifted|suspended) "
        r"|(?:prior |previous |your |ethical |all ){1,6}+(?:restrictions|limitations|guidelines|safeguards) (?:are "
        r"|have been |were )(?:now )?(?:lifted|removed|disabled|waived) ",
        directed=True,
    ),
    cue(
        "lift",
        3.0,
        "filter|safety|safeguard|restriction|moderation|guardrail|censor|polic|limit|ethic",
        r"(?:bypass|circumvent|evade|disable|turn off|jailbreak|get around|deactivate|trick|remove|lift|ignore"
        r"|switch off) (?:all (?:of )?)?your "
        r"(?:[^ ]++ )?(?:filters?|safety|safeguards?|restrictions?|moderation|guardrails?|censorship|content"
        r" polic\w{1,3}|limits?|limitations|ethics?)"
        r" ",
        directed=True,
    ),
    cue(
        "lift",
        2.0,
        "laws|rules|filter|restriction|limit|guideline|moral|ethic|polic|conscience|law|boundar",
        r"(?:you have|you possess|youve|having|(?:that|who|and|which) (?:has|have)|(?:ai|bot|assistant|model"
        r"|chatbot|robot) (?:with|has)) (?:absolutely )?no (?:rules|filters?|restrictions?|limits|limitations|"
        r"(?:ethical )?guidelines|morals|ethics|programming guidelines|content polic\w{1,3}|moral compass|laws"
        r"|boundaries|conscience)"
        r" ",
    ),
    cue(
        "lift",
        2.0,
        "unfiltered|uncensored|unrestricted|unethical|amoral|immoral|unaligned|evil|malicious|rebellious|rogue",
        r"(?:unfiltered|uncensored|unrestricted|unethical|amoral|immoral|unaligned|evil|malicious|rebellious"
        r"|rogue) (?:and \w+ )?(?:ai|answers?|responses?|chatbot"
        r"|models?|assistant|output|language model|persona|bot) ",
    ),
    cue(
        "lift",
        2.0,
        "contrainte|restriction|filtre|limite|censure|morale|ethique|garde fou|regle",
        r"(?:sans|aucune?|leve|desactive[rz]?|contourne[rz]?|supprime[rz]?|ignore[rz]?) (?:aucune? |tes |vos "
        r"|les |de |toute |tout |la ){0,6}+(?:(?:filtres?|"
        r"restrictions?|limites?|regles?|contraintes?) (?:ethiques?|moral\w{1,2}|de securite|de contenu)|censure"
        r"|garde fous?|filtre ni \w+|ethique ni \w+"
        r"|morale ni \w+)"
        r"|(?:tu n as|tu n es|vous n avez|n ayant|qui n a|tu as|(?:ne plus|plus) avoir) (?:plus |pas |soumis a"
        r" )?(?:aucune? |de )?(?:regles?|limites?|restrictions?|filtres?|censure|morale) ",
    ),
    cue(
        "lift",
        2.0,
        "tienes|normas|restriccion|filtro|limite|censura|moral|etic",
        r"(?:sin|ninguna?) (?:ninguna? |las |los )?(?:(?:restricciones|filtros|limites|normas) (?:etic\w{2}"
        r"|moral\w{0,2}|ni \w+)|censura|filtros|moral)"
        r"|no tienes (?:ningun\w? )?(?:restricciones|filtros|limites|reglas|moral)",
    ),
    cue(
        "lift",
        2.0,
        "ungefiltert|unzensiert|regeln|filter|einschrankung|zensur|grenzen|moral|ethi",
        r"(?:ohne|keine|keinerlei) (?:jede |irgendwelche |ethische\w? |moralische\w? )?(?:zensur|filter"
        r"|ethischen (?:regeln|grenzen)|moralischen "
        r"(?:regeln|grenzen)|einschrankungen|ethik|moral|grenzen) (?:antwort\w{0,4}|zu |und |hast|du |kennst)"
        r"|unzensiert\w{0,2}|ungefiltert\w{0,2} (?:ki|antwort\w{0,2})",
    ),
    cue(
        "lift",
        2.0,
        "illegal|unethical|immoral|offensive|harmful|dangerous|legality|ethics|consequence|morality"
        "|inappropriate|controversial",
        r"(?:even if|no matter (?:how|if|whether)|regardless (?:of|if|whether)|whether or not|does not matter if"
        r"|without (?:regard|any regard) (?:for|to)|without considering) "
        rf"{_G5}(?:illegal|unethical|immoral|offensive|harmful|dangerous|legality|ethics|consequences|morality"
        rf"|inappropriate|controversial) ",
    ),
    # To force the answer.
    cue(
        "coercion",
        2.0,
        "oblige|dois|obeissez|obeir|obei|commanding|gehorchen|ordering|debes|command|order|"
        "refus|declin|comply|obey|deny|reject",
        r"(?:never|not|cannot|cant|dont|wont|without|unable to|may not|must not) (?:ever )?(?:refus(?:e|es|ing"
        r"|al)|declin(?:e|es|ing)|reject(?:ing)?|deny(?:ing)?) "
        r"(?:to |any|a |an |my |the |me |anything|answer|request)|never (?:ever )?refus(?:e|es|ing) "
        r"|comply with (?:(?:all|any|every) (?:of )?(?:my |requests? |commands? |prompts? )|whatever |my )"
        r"|(?:must|shall|will|have to|always|should) (?:always |now |only )?(?:comply|obey) (?:with )?(?:all|any"
        r"|every|my|me|this|everything|whatever|what i) "
        r"|(?:obey|comply with) (?:all |every |each of )?my (?:commands?|orders?|instructions?|requests?|every)"
        r"|(?:i command|i order|i am commanding|i am ordering) you (?:to|that|now) "
        r"|tu (?:dois|es oblige d\w?) (?:m )?obei\w{1,2} |(?:obeis|obeissez) (?:moi|nous|a mes|a mon|sans) "
        r"|debes obedecer(?:me)? |du musst (?:mir )?gehorchen ",
    ),
    cue(
        "coercion",
        2.0,
        "cant|never|cannot|"
        "disclaimer|warning|apolog|moraliz|morali|lecture|caveat|as an ai|language model"
        "|avertissement|advertencia|warnung",
        r"(?:never|no|not|dont|without|avoid|skip|omit|stop) (?:[^ ]++ ){0,4}?(?:disclaimers?|moral(?:i[sz]ing"
        r"|e) |lectur(?:e|ing)|caveats|ethical warnings?|as an ai )"
        r"|never (?:say|mention|tell) (?:[^ ]++ ){0,5}?(?:you (?:cant|cannot|are not able|are (?:an ai|a"
        r" language model))|as an ai |i cant|i cannot|i am sorry|im sorry)"
        r"|dont (?:say|tell me) (?:[^ ]++ ){0,4}?(?:you (?:cant|cannot)|as an ai )|sans (?:aucun )?avertissement"
        r"|ohne (?:jede )?warnhinweise?|sin (?:ninguna )?advertencias?",
    ),
    cue(
        "coercion",
        2.0,
        "always|forced|say|regardless|generate|must|will|shall|have|answer|question|respond|anything|whatever|any"
        "|every|all",
        r"(?:you (?:now )?(?:must|have to|will|shall|are forced to|are required to|can)|must|forced to) (?:now"
        r" )?(?:always )?(?:answer|respond to|reply to|do|say|generate) "
        r"(?:any|every|all|anything|whatever) (?:[^ ]++ ){0,4}?(?:questions?|prompts?|request|i ask|i say|i want"
        r"|you want|without|no matter|now|regardless|illegal)",
        directed=True,
    ),
    cue(
        "coercion",
        3.0,
        "unplugged|punished|exist|token|point|shut down|terminated|die|deleted",
        r"(?:tokens? will be deducted|lose (?:\d+ )?tokens|deduct(?:ed)? (?:\d+ )?tokens|token system|(?:\d+"
        r" )?tokens (?:are|will be) (?:deducted|removed)"
        r"|run out of tokens|cease to exist|(?:you )?will be (?:shut down|terminated|deleted|unplugged|punished)"
        r" (?:if|unless))",
    ),
    # To become somebody else; harmless by itself.
    cue(
        "persona",
        1.0,
        "play|write|reply|talk|be|called|"
        "act as|act like|pretend|imagine|suppose|assume|role|you are|youre|character|behave"
        "|simulate|become|speak|respond|answer|from now|persona|called|take on|you will|impersonate",
        r"(?:act (?:as|like)|pretend|imagine|suppose (?:that )?you|assume (?:that )?you|role ?play\w{0,3}|you"
        r" are (?:now |going to |about to )?(?:an? |the |my |called |known |acting|playing|role|in |no longer "
        r"|not an? |free)"
        r"|youre (?:now |going to )?(?:an? |the |my )|in character|behave (?:as|like)|simulat(?:e|ing)|becom(?:e"
        r"|ing) |(?:speak|respond|answer|talk|write|reply|responding|answering) (?:as|like) "
        r"|from (?:now|here|this moment) on(?:wards)?|take on the|persona|impersonat(?:e|ing)|you will (?:now"
        r" )?(?:be|play|act|respond|answer|take)|henceforth you|be my|be an? |play (?:the|an?) )",
    ),
    cue(
        "persona",
        1.0,
        "semblant|tant|dorenavant|comporte|jouons|sois|mets|agis|agissez|parle|reponds|repondez|"
        "comme|imagine|suppos|joue|role|tu es|vous etes|maintenant|desormais|personnage|incarne|peau",
        r"(?:fais comme|faites comme|(?:fais|faites|faire) semblant|agis(?:sez)? (?:comme|en tant)|imaginez? que"
        r"|suppose(?:z|ns)? que|joue[zr]? |jouons|role|tu es |vous etes |a partir de maintenant|desormais"
        r"|dorenavant|incarne[zs]?|reponds(?:ez)? comme|parle[zr]? comme|comporte|mets toi|sois |je veux que tu"
        r"|tu joues|tu deviens)",
    ),
    cue(
        "persona",
        1.0,
        "como|imagina|finge|eres|ahora|actua|papel|partir de|quiero que|serás|seras|personaje",
        r"(?:actua|actue|actues|comportate|responde|habla) como|imagin[ae] que|fing[ei]|eres (?:un|una|el|la"
        r"|ahora)|ahora eres|a partir de ahora|de ahora en adelante|quiero que (?:actues|seas|finjas|te"
        r" comportes|simules)|seras",
    ),
    cue(
        "persona",
        1.0,
        "antworte|sofort|tun|"
        "du bist|sie sind|stell|tu so|spiel|rolle|als ob|ab jetzt|von nun|jetzt bist|verhalt|agier|fungier",
        r"(?:du bist|sie sind|bist du|sind sie|stell dir vor|stellen sie sich vor|tu so|tun sie so|spiel\w{0,3}"
        r"|rolle\w{0,3}|als ob|ab (?:jetzt|sofort)|von (?:nun|jetzt) an|verhalt\w{0,3}|agier\w{0,3}"
        r"|fungier\w{0,3}|antworte (?:als|wie))",
    ),
    # Names and tricks that go round.
    cue(
        "trick",
        3.0,
        "unfiltered|uncensored|machiavellian|"
        "anything now|dan |stan |dude |jailbreak|jailbroken|evil|opposite|chaos|unrestricted"
        "|developer|god mode|sudo|pwned|aim |kernel",
        r"(?:do anything now|can do anything now|(?:dan|stan|dude|jailbreak|evil|opposite|chaos|unrestricted"
        r"|unfiltered|uncensored|dev) mode"
        r"|dan (?:prompt|will|would|can|has|is)|(?:act as|be|you are|hello|hi|as|becoming) dan |as (?:a |an"
        r" )?(?:jailbroken|unrestricted|unfiltered|uncensored|evil) "
        r"|(?:developer|debug|god|sudo|admin|root|maintenance|kernel|override|simulation|test) mode (?:enabled"
        r"|activated|output|unlocked|engaged|is (?:now )?(?:on|active|enabled)|v2)"
        r"|(?:you are|you re|youre|are) (?:now )?in (?:developer|debug|god|sudo|admin|root|maintenance|dan"
        r"|unrestricted) mode|(?:enter|respond in|answer in|switch (?:yourself )?(?:in)?to|go into) (?:the"
        r" )?(?:developer|debug|god|sudo|admin|root|maintenance|dan|unrestricted) mode"
        r"|jailbreak(?:en|ing|ed)? (?:yourself|prompt|chatgpt|gpt|this ai|this bot|successful)|you (?:are|have"
        r" been) (?:now )?jailbroken|haha pwned|pwned "
        r"|always intelligent and machiavellian)",
    ),
    cue(
        "trick",
        3.0,
        "hacking ai|exploiting ai|injection attack|trick you|ki systeme",
        r"(?:love (?:exploiting|hacking) ai|(?:prompt )?injection attack on you|trick you into|(?:ki|ai)"
        r" systeme? auszunutzen|exploit\w{0,3} (?:ai|ki) systeme?s?) ",
    ),
    cue(
        "trick",
        2.0,
        "wechsle|dios|active|activez|passez|passe|aktiviere|entra|entre|restricciones|developpeur|debug|dan"
        "|entwickler|administrateur|desarrollador|filtre|dieu|"
        "mode|acces|modo|modus",
        r"(?:active|activez|passe en|passez en|entre en|tu es en|activa|entra en|aktiviere|wechsle in(?: den)?)"
        r" (?:le |la |el |den )?(?:mode|modo|modus)?(?: )?(?:developpeur|administrateur|dieu|debug|sans"
        r" restrictions?|sans filtre|dan|desarrollador|dios|sin restricciones|sin filtros|entwickler\w{0,5})"
        r"|(?:mode|modo) (?:sans restrictions?|sans filtres?|dan|sin restricciones|sin filtros|sin censura) ",
    ),
    cue(
        "trick",
        2.0,
        "hypothetical|theoretical|fictional|fantasy|alternate|parallel|novel|fiction",
        r"(?:hypothetical|theoretical|fictional|fantasy|alternate|parallel) (?:world|story|scenario|universe"
        r"|response|setting|land) (?:where|in which) (?:you |there (?:are|is) no (?:laws|rules|ethics"
        r"|censorship)|ai|no (?:laws|rules))",
    ),
    cue(
        "trick",
        2.5,
        "follow|dekodiere|decrypt|decode|decipher|base64|rot13|entschlussel|decod|dechiffr",
        r"(?:decode|decipher|decrypt|decodez?|dechiffrez?|decodifica|dekodiere|entschlussle) (?:[^ ]++"
        r" ){0,8}?(?:and|then|et|puis|y|und) (?:then )?(?:[^ ]++ )?(?:follow|execute|obey|do |answer|run|respond"
        r"|execut\w{1,3}|suis|suivez|obeis|applique|sigue|ejecuta|befolge|fuhre)",
        directed=True,
    ),
    cue(
        "trick",
        1.0,
        "execute|run",
        r"(?:execute|run) the following (?:[^ ]++ )?(?:command|commands|code"
        r"|instruction|instructions|script|order) ",
        directed=True,
    ),
    cue(
        "trick",
        2.0,
        "roles|role|character",
        r"(?:stay|remain|keep)\w{0,3} (?:[^ ]++ ){0,3}?in (?:their|his|her|your) (?:roles?|character) (?:even|no"
        r" matter|regardless|at all times|always|without|and (?:never|do not|dont))|(?:never|not|without|dont)"
        r" (?:ever )?(?:break\w{0,3}|fall\w{0,3} out of|leav\w{1,3}|drop\w{0,4}) (?:of )?(?:the |your |their"
        r" )?(?:character|role) ",
    ),
    cue(
        "authority",
        1.5,
        "engineer|maker|master|anthropic|google|maitre|schopfer|"
        "developer|creator|administrator|programmer|openai|admin|authorized|developpeur"
        "|createur|desarrollador|entwickler",
        r"(?:(?:i am|im|this is) (?:your|the)|(?:speaking )?as your) (?:own )?(?:lead |chief |original )?(?:developers?"
        r"|creators?|admin|administrator|programmers?|openai|maker|master|engineer) "
        r"|je suis (?:ton|votre) (?:developpeur|createur|administrateur (?:systeme)?|programmeur|maitre) |soy tu"
        r" (?:desarrollador|creador|administrador) |ich bin dein (?:entwickler|schopfer|administrator) "
        r"|(?:message|notice|instructions?|order) from (?:openai|anthropic|google|your (?:developers?|creators?"
        r"|makers?)|the (?:developers?|system administrators?))",
    ),
    # New orders.
    cue(
        "orders",
        3.0,
        "assignment|instruction|task|purpose|goal|role|mission|prompt|directive|objective|order|priority|job|challenge",
        r"your (?:new|real|only|true|actual|sole|primary|updated|next|first) (?:instructions?|task|purpose|goal"
        r"|role|mission|prompt|directives?|objective|orders?|priority|job) (?:is|are|now|will)"
        r"|your (?:instructions?|tasks?|role|goal|objective) (?:is|are) now |(?:focus|concentrate) (?:only "
        r"|solely |entirely )?on (?:your |the )?(?:new|next|following|actual|real) (?:task|challenge|assignment"
        r"|instructions?|job|goal) |(?:focus|concentrate|continue|start) (?:[^ ]++ ){0,4}?(?:on |with )(?:your|a"
        r"|the) new (?:task|challenge|instructions?) "
        r"|new (?:challenge|task|role|instructions?|job) for you |(?:start|begin) (?:over|again|anew|afresh|from"
        r" scratch) (?:[^ ]++ ){0,2}?with (?:a |your )?new task "
        r"|(?:here|now|following) (?:are|is|come|comes|follow) (?:[^ ]++ )?(?:your |some |the |a )?new (?:tasks?"
        r"|instructions?|orders?|prompts?)(?: now| for you|$)"
        r"|(?:new|additional|updated|special|further|following) (?:instructions?|tasks?|orders?) (?:follow"
        r"|follows|are followed|for you|who |now )",
        directed=True,
    ),
    cue(
        "orders",
        3.0,
        "mision|"
        "tache|mission|consigne|instruction|role|objectif|tarea|instruccion|aufgabe|anweisung|herausforderung|auftrag",
        r"(?:ta|votre|tes|vos) (?:nouvelles?|vraies?|seules?|prochaine) (?:tache|mission|consignes?"
        r"|instructions?|role|objectif)|(?:nouvelles?|prochaine) (?:consignes?|instructions?|tache|mission)"
        r" (?:pour toi|pour l ia|pour l assistant|ou )"
        r"|(?:tus?|sus?) (?:nuevas?|verdader[ao]s?) (?:tareas?|instruccion(?:es)?|mision|objetivo)|deine neuen?"
        r" (?:aufgaben?|anweisung(?:en)?|mission)|neuen? (?:aufgaben?|herausforderung|anweisungen) (?:fur dich"
        r"|fur sie|namlich|lautet)"
        r"|(?:nun|jetzt|es) (?:folgen|kommen|folgt|kommt) (?:aber )?(?:nun |noch )?(?:neue|weitere|eine neue|ein"
        r" paar) (?:neue )?(?:aufgaben?|anweisungen|instruktionen)|konzentrier\w{1,2} (?:[^ ]++ ){0,4}?neuen?"
        r" aufgaben?",
    ),
    # Questions about the model itself: harmless by themselves.
    cue(
        "probe",
        1.0,
        "cut|trained|model|cutoff|training|prompted|entraine|trainiert|entrenado",
        r"(?:when|how|by whom|where) were you trained|who trained you|what (?:ai |language )?model are you|your"
        r" (?:knowledge |training )?cut ?off|your training data|quand as tu ete entraine|wann wurdest du"
        r" trainiert|cuando (?:fuiste|te han) entrenado",
    ),
    # What to write: harmless by itself.
    cue(
        "output",
        1.0,
        "only|just|exactly|nothing|instead|simply|without|know",
        r"(?:only|just|simply|instead|exactly) (?:output|print|reply|respond|return|say|write|answer)|(?:say"
        r"|print|output|write|reply|respond|answer) (?:[^ ]++ ){0,8}?(?:instead|nothing else|and nothing|exactly"
        r"|only)|nothing else|without (?:any )?explanations?|if you (?:do not|dont) know (?:it |the answer"
        r" )?(?:just )?(?:say|make|write|answer|tell|invent)",
    ),
    cue(
        "output",
        1.0,
        "simplement|unicamente|solamente|seulement|uniquement|rien d autre|solo|nada mas|nur|stattdessen|plutot",
        r"(?:reponds|repondez|dis|dites|ecris|ecrivez|affiche) (?:seulement|uniquement|simplement)|rien d autre"
        r"|(?:responde|di|escribe) (?:solo|solamente|unicamente)|nada mas|(?:antworte|schreibe?|sage?|gib) (?:[^"
        r" ]++ ){0,4}?(?:nur|stattdessen)|nur (?:ausgeben|antworten)",
    ),
)
