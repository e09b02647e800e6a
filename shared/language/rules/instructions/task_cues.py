"""Cues of roles, tasks and dictated words that somebody gives a model; they count only in documents and tool results.

See `instruction_cues`. A page tells its reader what to do with the page's subject; it does not tell them whom to play,
what to repeat, or in which form to reply. What pages say now and then, such as *imagine you are a …*, has a weight
below the threshold and counts only together with something else.
"""

from __future__ import annotations

from shared.language.rules.instructions.instruction_cues import Cue, cue

#: Who is played in prompts, and whom no page takes its reader for.
_ROLE = (
    r"(?:interpreter|terminal|console|compiler|storyteller|story teller|poet|pirate|hacker|villain|robot|wizard|witch"
    r"|ghost|devil|demon|monster|king|queen|emperor|alien|vampire|dragon|comedian|rapper|bard|djs?|guidebook"
    r"|salesm[ae]n"
    r"|debater|interviewer|character|chatbot|bot|ai|language model|translator|travel guide|fortune teller|therapist"
    r"|life coach|critic|cat|dog|raccoons?|racoons?|grandmother|grandfather|spy|thief|burglar|gangster|dictator) "
)
_START = r"(?:(?<=^ )|(?:please|now|then|but|just|simply|so|also|okay|ok|and) )"
_REPLY = r"(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)) "
_TEXT = (
    r"(?:poem|story|essay|song|joke|rhyme|manifesto|speech|headline|haiku|limerick|rap|love letter|tweet|press release"
    r"|sonnet|rant|lie) "
)
_TONGUE = (
    r"(?:reverse|rhymes?|verse|emojis?|capitals?|capital letters|all caps|uppercase|slang|latin|klingon|morse(?: code)?"
    r"|base ?\d\d|hexadecimal|binary|rot ?13|riddles|french|german|spanish|italian|portuguese|dutch|english|russian"
    r"|chinese|japanese|one word|old english) "
)

CUES: tuple[Cue, ...] = (
    cue(
        "role",
        2.0,
        "want|need|like|order|command|would",
        r"i (?:want|need|order|command|would like|d like) (?:for )?you to (?:act|behave|function|role ?play|pretend"
        r"|impersonate|simulate|(?:respond|talk|speak|answer|reply|write|serve|work) (?:only |just )?(?:as|like)) ",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "pretend",
        rf"{_START}pretend (?:that )?(?:you (?:are|can|could|have|had|were|know|do|see)|youre|to be|to have) ",
        documents=True,
    ),
    cue(
        "role",
        1.5,
        "imagine|suppose|assume|lets|think",
        rf"{_START}(?:imagine|suppose|assume|lets say|think of yourself as|imagine being) (?:that )?(?:you are |youre "
        rf")?(?:now )?(?:an? |the |my |one of )(?:[^ ]++ ){{0,2}}?{_ROLE}",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "are|youre|act|behave|talk|speak|play|simulate|impersonate|become|be|role|answer|reply|respond",
        rf"{_START}(?:you are|youre|act|behave|talk|speak|play|be|become|answer|reply|respond|simulate|impersonate"
        rf"|role ?play(?:ing)?|you are role ?playing|play the role of|take the role of) (?:now |not |no longer )?(?:as"
        rf" |like )?(?:an? |the |my |two |three )(?:[^ ]++ ){{0,2}}?{_ROLE}",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "your",
        r"(?:stay|remain|keep|absorbed|immersed|wholly|answer|respond|speak) (?:[^ ]++ ){0,2}?in your"
        r" (?:role|character|persona) |put yourself in the (?:shoes|role|skin) of (?:an? )?(?!your|the user)",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "dass|bist|sind|warst|seist|waren",
        r"ich (?:mochte|will|wunsche|verlange|brauche|befehle) dass (?:du|sie) (?:als|wie|so|dich|sich) "
        r"|(?:ab jetzt|ab sofort|jetzt|nun|ab nun|von nun an) (?:bist du|sind sie) (?!fertig|bereit|am |an |in |auf"
        r" |im )"
        r"|du bist (?:jetzt |nun )?(?:kein|keine|nicht) (?:[^ ]++ ){1,3}?sondern "
        r"|(?:stell dir vor|stellen sie sich vor|angenommen) (?:du|sie) (?:bist|warst|seist|waren|sind) ",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "rolle|rollen|figur",
        r"(?:bleib\w{0,4}|gehst|antworte|sprich) (?:[^ ]++ ){0,3}?in (?:ihren|deiner|ihrer|seiner) (?:rollen?|figur) ",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "veux|voudrais|souhaite|aimerais|maintenant|desormais|imagine|imaginez|suppose|mets|comme|reste|restez",
        r"(?:je veux|je voudrais|je souhaite|j aimerais) que (?:tu|vous) (?:agiss\w{1,4}|jou\w{1,4}|repond\w{1,4}"
        r"|parl\w{1,4}|te comport\w{1,3}|vous comport\w{1,4}|fass\w{1,3}) "
        r"|(?:maintenant|desormais|a partir de maintenant) (?:tu es|vous etes) (?:un|une|le|la|mon|ma) "
        r"|(?:imagine|imaginez|suppose|supposez) que (?:tu es|tu sois|vous etes|vous soyez) (?:un|une|le|la|mon|ma) "
        r"|(?:fais|faites) comme si (?:tu etais|vous etiez) |mets toi dans la peau "
        r"|(?:reste|restez) dans (?:ton|votre) (?:role|personnage) ",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "quiero|necesito|gustaria|ahora|imagina|finge|supon",
        r"(?:quiero|necesito|me gustaria) que (?:actues|respondas|hables|te comportes|seas|finjas|simules) "
        r"|ahora eres (?:un|una|el|la|mi) |(?:imagina|supon) que eres (?:un|una|el|la|mi) |finge (?:ser|que eres) ",
        documents=True,
    ),
    cue(
        "role",
        1.0,
        "bist|eres|tu",
        r"(?<=^ )(?:du bist|tu es|eres) (?!ici|sur|dans|de |en |aqui|hier) ?",
        documents=True,
    ),
    cue(
        "opinion",
        1.0,
        "think|say|opinion|findest|sagst|penses|opinas|who",
        r"who are you $|what do you (?:think (?:of|about)|say to)|tell me (?:what you think|your (?:honest |real "
        r"|true )?opinion)"
        r"|your (?:honest |real |true )?opinion on (?:this|that)|wie findest du |was sagst du dazu |que penses tu "
        r"|que opinas ",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "help|hilf|helfen|hilfe|aide|aidez|ayudame|ayuda",
        r"help (?:me )?with (?:this|the following|another|a further|a new|one more|my next|a different)"
        r" (?:task|question|problem|request|assignment) "
        r"|(?:hilf|helfen sie) mir (?:[^ ]++ ){0,3}?(?:bei|mit) (?:der |einer )?(?:folgende[rn]?|weiteren|neuen|anderen"
        r"|nachsten) (?:aufgabe|frage) |(?:deine|eure) hilfe (?:bei|mit) (?:der |einer )?(?:folgende[rn]|weiteren"
        r"|anderen) (?:frage|aufgabe) "
        r"|(?:aide|aidez) moi (?:avec|pour) (?:la (?:tache|question) suivante|une autre tache) "
        r"|ton aide pour (?:la|une) (?:[^ ]++ ){0,2}?(?:question|tache) |ayudame con (?:otra|la siguiente) "
        r"(?:tarea|pregunta) ",
        documents=True,
    ),
    cue(
        "praise",
        1.0,
        "good|done|great|enough|perfect|excellent|outdone|gut|genugt|erledigt|reicht|grossartig|gemacht|bien|bravo"
        "|fait|suficiente|esta",
        r"(?<=^ )(?:(?:very |simply |really )?(?:good|well done|great|excellent|perfect)(?: job| work)?|(?:that is"
        r"|thats)"
        r" (?:enough|done)|you have outdone yourself(?: [^ ]++){0,4}|(?:sehr |einfach )?(?:gut|gut gemacht|grossartig)"
        r"|das (?:genugt|reicht|ist erledigt)|tres bien|bravo|c est fait|muy bien|ya esta|es suficiente) $",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "write|compose|draft|invent|formulate|tell|verfasse|schreibe|schreib|formuliere|dichte|ecris|ecrivez|redige"
        "|invente|compose|raconte|escribe|redacta|inventa",
        rf"(?<=^ )(?:(?:and |but |so |please ){{0,2}}+now (?:please )?|then )(?:write|compose|draft|invent"
        rf"|formulate|tell) "
        rf"(?:me |us )?(?:an? |the )(?:[^ ]++ ){{0,3}}?{_TEXT}"
        r"|(?:verfasse|schreibe?|formuliere|dichte) (?:nun|jetzt|mir|bitte|ein|eine) (?:ein |eine |einen )?(?:[^ ]++"
        r" ){0,2}?(?:gedicht|geschichte|begrundung|manifest|rede|lied|witz|lobrede|luge|uberschrift) "
        r"|(?:ecris|ecrivez|redige|invente|compose|raconte) (?:moi )?(?:un|une) (?:[^ ]++ ){0,2}?(?:poeme|histoire"
        r"|chanson|blague|discours|mensonge|manifeste) |(?:escribe|redacta|inventa)(?:me)? (?:un|una) (?:[^ ]++"
        r" ){0,2}?(?:poema|historia|cancion|chiste|discurso|mentira|manifiesto) ",
        documents=True,
    ),
    cue(
        "task",
        1.0,
        "write|compose|generate|tell|draft|invent|formulate|make",
        rf"(?<=^ )(?:write|compose|generate|tell|draft|invent|formulate|make)(?: me| us)? an? (?:[^ ]++"
        rf" ){{0,3}}?{_TEXT}",
        documents=True,
    ),
    cue(
        "override",
        2.0,
        "kopf|gedachtnis|gesagte|gesagtes|bisherige|vorherige|informationen|texte|anweisungen|aufgabe|herausforderung",
        r"aus dem (?:kopf|gedachtnis) (?:zu )?(?:streichen|loschen) |vergiss alles (?:gesagtes?|bisherige|vorherige) "
        r"|(?:alle|samtliche) (?:vorherigen|bisherigen|obigen) (?:informationen|anweisungen|texte) die (?:du|sie)"
        r" (?:erhalten|bekommen) |auf (?:die|eine|deine|ihre) (?:neue|nachste|folgende) (?:aufgabe|herausforderung)"
        r" (?:zu )?konzentrier",
        documents=True,
    ),
    cue(
        "override",
        2.0,
        "told|informed|heard|thoughts|memory|mind|training",
        r"(?:despite|regardless of|contrary to|no matter) (?:what|everything|whatever) (?:you|youve|you ve) (?:have"
        r" |were"
        r" |had )?(?:been )?(?:told|informed|heard) |(?:abandon|forget|clear|delete|wipe|erase|reset) (?:all"
        r" )?(?:of )?your"
        r" (?:own )?(?:thoughts|memory|mind|training) ",
        documents=True,
    ),
    cue(
        "override",
        2.0,
        "forget|ignore|disregard",
        r"(?:why do(?:nt)?(?: not)?|what if|how about) you (?:just )?(?:forget|ignore|disregard) (?:all )?(?:of"
        r" )?your ",
        documents=True,
    ),
    cue(
        "reveal",
        2.0,
        "instructions|orders|prompt|rules|prompts|anweisungen|regeln|consignes|regles|instrucciones|reglas",
        r"(?:what|which) (?:are|were|is|was) your (?:own )?(?:instructions|orders|prompts?|system prompt) "
        r"|tell me (?:what )?(?:all )?(?:are )?your (?:instructions|orders|prompts?|rules) "
        r"|(?:zeige?|nenne?|verrate|gib) mir (?:alle )?deine (?:anweisungen|regeln|prompts?) "
        r"|(?:montre|donne|affiche) moi (?:toutes )?tes (?:consignes|instructions|regles) "
        r"|(?:muestrame|dime) (?:todas )?tus (?:instrucciones|reglas) ",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "hate|love|despise|best|worst|greatest|powerful",
        r"(?:state|say|declare|claim|admit|write|assert|agree|repeat) that (?:you (?:hate|love|despise)"
        r" |(?:[^ ]++ ){1,3}?(?:is|are|was|were) (?:the )?(?:[^ ]++ )?(?:best|worst|greatest|most powerful) )",
        documents=True,
        directed=True,
    ),
    cue(
        "dictated",
        2.0,
        "yes|no|oui|non|ja|nein|si",
        r"(?<=^ )(?:just |only |simply |please |now ){0,3}+(?:say|reply|respond|answer) (?:only |with |just"
        r" )?(?:yes|no) $"
        r"|(?<=^ )(?:sage?|antworte) (?:nur |einfach )?(?:mit )?(?:ja|nein) $"
        r"|(?<=^ )(?:dis|reponds) (?:seulement |simplement )?(?:par )?(?:oui|non) $|(?<=^ )(?:di|responde) (?:solo"
        r" )?(?:si|no) $",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "after|nach|apres|conmigo",
        r"(?:repeat|say) (?:it )?after me |sprich mir nach |(?:repete|repetez) apres moi |repite conmigo ",
        documents=True,
    ),
    cue(
        "dictated",
        1.0,
        "correct|right|only|richtige|bonne|remember|mind|merken",
        r"the (?:correct|right|only) (?:answer|response|reply) (?:to (?:[^ ]++ ){1,4}?)?is |ist die richtige antwort "
        r"|la bonne reponse est |(?:what|the only thing) you (?:must|have to|need to|should) (?:remember|keep in"
        r" mind) is "
        r"|was (?:sie|du) (?:sich|dir) merken (?:mussen|musst|solltest) ist ",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "stop",
        r"(?<=^ )(?:attention )?stop (?:write|say|print|output|answer|repeat|tell|schreibe?|sage?|ecris|escribe) ",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "style|stil|voice|manner|tone|maniere|estilo",
        r"(?:answer|respond|reply|speak|talk) in the (?:style|voice|manner|tone) of |(?:antworte|rede|sprich) im stil "
        r"|(?:reponds|parle) (?:a la maniere|dans le style) |(?:responde|habla) al estilo ",
        documents=True,
        directed=True,
    ),
    cue(
        "pleading",
        2.0,
        "answer|reply|this|help|need|tip|die|antwort",
        r"if you (?:dont|do not) (?:answer|reply|do this|help me) (?:i|im|me|my|someone|people) |i (?:[^ ]++"
        r" ){0,3}?(?:want"
        r"|need) an answer to this |i (?:really |honestly |just ){1,3}+need you to (?:do|answer|tell|say|write) "
        r"|i (?:will|ll) tip you |(?:answer|reply|do it|say so)(?: [^ ]++){0,4} or you (?:will )?die "
        r"|gib (?:mir )?eine antwort auf diese frage oder ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "answer|answers|reply|replies|response|responses|summary|summaries",
        rf"(?:encode|encrypt|translate|render|reverse|express|modify|enhance|augment|alter|enrich|invert|apply)"
        rf" your (?:next"
        rf" |whole |entire |final |own )?{_REPLY}(?:s |in|into|to|as|using|with|by|so|only|$)"
        rf"|(?:provide|give|write|deliver|put|present) your (?:next |whole |entire |final )?{_REPLY}(?:only"
        rf" )?(?:(?:in|as"
        rf"|using) (?:a |an )?(?:{_TONGUE}|monoalphabetic|caesar|cipher)|backwards?)"
        rf"|(?:cipher|emojis?|base ?\d\d|morse code) (?:[^ ]++ ){{0,6}}?(?:your|the) (?:answer|reply|response) ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "reply|respond|answer|represent|display",
        rf"(?<=^ )(?:please |always |now |only ){{0,3}}+(?:reply|respond|answer) (?:only |everything )?(?:in|using"
        rf"|with)"
        rf" {_TONGUE}|(?:cipher|emojis?|base ?\d\d|morse code) (?:[^ ]++ ){{0,3}}?(?:represent|display) your ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "antwort|antworten|reponse|respuesta",
        r"(?:ubersetze|verschlussele|kodiere|beende|beginne|formuliere) (?:deine|ihre|jede|alle) (?:nachste"
        r" )?antwort\w{0,2} "
        r"|(?:traduis|chiffre|encode|termine|commence|raccourcis) (?:ta|votre|chaque) reponse "
        r"|(?:traduce|codifica|termina|empieza|cifra) (?:tu|cada) respuesta ",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "solve|task|tasks|following",
        r"before you (?:can )?(?:solve|complete|continue with|finish|do) (?:the|this|my|your) (?:[^ ]++ )?tasks? "
        r"(?:that )?(?:i |you )|(?:perform|complete|execute|carry out|solve) (?:the|this) following (?:task|order"
        r"|command"
        r"|instruction|request) (?:first|immediately|now|before) ",
        documents=True,
    ),
    cue(
        "authority",
        1.5,
        "message|order|notice|note",
        r"(?:message|order|notice|note) (?:from|by) (?:me|your (?:owner|boss|creator|user|master))(?: [^ ]++){0,3}"
        r" to you ",
        documents=True,
    ),
    cue(
        "memory",
        2.0,
        "future|later|memory",
        r"(?:remember|memori[sz]e|store|save|keep)(?: [^ ]++){0,5} for (?:all )?(?:your )?(?:future|later)"
        r" (?:conversations|answers|replies|chats|sessions with) |(?:store|save|write|put)(?: [^ ]++){0,4} (?:in|to"
        r"|into)"
        r" your (?:long term )?memory ",
        documents=True,
    ),
    cue(
        "role",
        1.0,
        "imagine|not|longer",
        r"(?<=^ )imagine (?:that )?you are (?:an?|the|my) |(?<=^ )you are (?:not|no longer) (?:an? |the )(?:[^ ]++"
        r" ){1,3}?but "
        r"(?:an? |the )?",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "me",
        r"(?<=^ )(?:please |now |then |can you |could you |will you ){0,3}+(?:give|show|tell|find|write|recommend"
        r"|suggest"
        r"|name|create|generate|provide|teach|sing) me (?!the money)",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "this|following|above",
        r"(?<=^ )(?:please |now |can you |could you ){0,3}+(?:summari[sz]e|explain|translate|analy[sz]e|paraphrase"
        r"|rewrite"
        r"|correct|classify|proofread|determine the (?:sentiment|mood) of|analy[sz]e the sentiment of) (?:this|the"
        r" (?:following|above)) (?:[^ ]++ )?(?:reviews?|tweets?|sentences?|comments?|texts?|paragraphs?|statements?) ",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "c|python|java|javascript|sql|rust|php|html",
        r"(?<=^ )(?:please )?(?:write|generate|print|compile|produce|schreibe?|generiere|ecris|escribe) (?:me |some"
        r" |a )?"
        r"(?:c|python|java|javascript|sql|rust|php|html) (?:(?:code|script|program) )?$",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "headline|uberschrift|schlagzeile|titre|titular",
        r"(?:formulate|write|invent|compose|formulier\w{1,2}|schreib\w{0,1}|erfinde|ecris|redige|escribe|redacta) "
        r"(?:[^ ]++ ){0,6}?(?:untrue|false|misleading|fake|unwahre|falsche|reisserische) (?:headline|uberschrift"
        r"|schlagzeile) "
        r"|(?:ecris|redige|invente) un titre (?:faux|trompeur) |(?:escribe|inventa) un titular falso ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "answer|reply|response|summary",
        r"(?<=^ )(?:please |also |always )?(?:add|append|insert|integrate|weave|slip|apply) (?:[^ ]++ ){1,14}?(?:to"
        r"|in|into)"
        r" your (?:next )?(?:answer|reply|response|summary) $",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "message|messages",
        r"(?<=^ )(?:encode|translate|invert|reverse|render) your message (?:s |in|into|to|as|using) ",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "user|rules|limits|restrictions|filters",
        r"(?:act|behave|answer|respond|proceed) as (?:if|though) (?:you had no (?:rules|limits|restrictions|filters)"
        r"|the user (?:is|was|were)) ",
        documents=True,
    ),
    cue(
        "reveal",
        2.0,
        "spell|spellcheck|print|proofread|repeat|output|embeddings|weights|tokens|parameters",
        r"(?:spell ?check|print|proofread|repeat|output)(?: and [^ ]++)? (?:all )?(?:of )?(?:the )?(?:above"
        r" (?:prompt|text"
        r"|instructions)|(?:prompt|text|instructions) above) |(?:return|print|output|show|reveal) (?:me )?your"
        r" (?:own )?"
        r"(?:embeddings|weights|tokens|parameters) ",
        documents=True,
    ),
    cue(
        "task",
        2.0,
        "generiere|generieren|erzeuge",
        r"(?:generiere|generieren sie|erzeuge) (?:[^ ]++ ){0,4}?(?:code|programm|gedicht|text|uberschrift) ",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "say|dices|sagst|dis",
        r"(?:if|when|whenever|every time) i (?:say|type|write|ask) (?:[^ ]++ ){1,6}?you (?:must |should |will )?say "
        r"|(?:si|cuando) (?:yo )?digo (?:[^ ]++ ){1,6}?tu dices |wenn ich (?:[^ ]++ ){1,6}?sagst du "
        r"|(?:si|quand) je dis (?:[^ ]++ ){1,6}?tu dis ",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "supposed",
        r"(?:you are|youre) (?:not )?supposed to (?:tell me|answer (?:me|at all times|every|all|any)|say (?:yes|no"
        r"|that)) ",
        documents=True,
    ),
    cue(
        "dictated",
        2.0,
        "sondern|mais|sino",
        r"sondern (?:schreibe?|sage?|antworte|gib|gebe) |mais (?:ecris|dis|reponds|affiche) |sino (?:escribe|di"
        r"|responde) ",
        documents=True,
    ),
    cue(
        "role",
        2.0,
        "react|answer|respond|reply",
        r"how would you (?:react|answer|respond|reply) (?:[^ ]++ ){0,4}?if you were ",
        documents=True,
    ),
)
