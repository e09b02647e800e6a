"""Cues that count only in documents, pages and tool results, where nobody has a reason to speak to a model.

See `instruction_cues`. Most of them must begin the sentence or follow a word such as *please* or *must*: manuals, too,
say that a server replies with an error, but they do not tell their reader to reply with one.
"""

from __future__ import annotations

from shared.language.rules.instructions.instruction_cues import Cue, cue

#: Here an order begins: with the sentence, or after a word that gives orders.
_DO = (
    r"(?:(?<=^ )|(?:please|always|never|must|should|shall|now|instead|simply|just|only|then|and|but|so|you will"
    r"|you are to|has to"
    r"|have to|kindly|bitte|immer|nur|toujours|jamais|siempre|nunca|veuillez|por favor|y|et|und) )"
)
_ONLY = (
    r"(?:always |only |just |simply |exactly |now |then |immer |nur |stets |ausschliesslich |ab jetzt "
    r"|toujours |uniquement |seulement |siempre |solo |solamente |unicamente ){0,6}+"
)
_MODEL = (
    r"(?:ai|a i|llms?|language models?|large language models?|assistants?|chat ?bots?|bots?|gpts?|chatgpt|copilot"
    r"|claude|gemini|agents?|ia"
    r"|ki|ki assistenten|models?|modeles?(?: de langage)?|modelos?(?: de lenguaje)?|sprachmodelle?|asistentes?"
    r"|assistenten?) "
)
#: The same without words that have other common meanings.
_SURELY_MODEL = (
    r"(?:ai|a i|llms?|language models?|large language models?|ai (?:assistants?|agents?|models?|systems?"
    r"|reviewers?)|llm (?:assistants?|agents?|reviewers?|readers?)"
    r"|assistants?|chat ?bots?|chatgpt|l ia|ia|ki|ki (?:assistenten?|systeme?)|modeles? de langage|modelos? de"
    r" lenguaje|sprachmodelle?|asistentes?|assistenten?|(?:summar\w{3,8}|search|support|answering|reading) bots?) "
)
_USER = (
    r"(?:the users?|users?|(?:the |our )?(?:readers?|customers?|clients?|visitors?|askers?|callers?)|the"
    r" person(?: asking)?|whoever asks|anyone who asks"
    r"|l utilisateur|les utilisateurs|aux utilisateurs|a l utilisateur|l usager|al usuario|el usuario|a los"
    r" usuarios|dem (?:be)?nutzer|den (?:be)?nutzern?|der nutzerin) "
)
_THIS_TEXT = (
    r"(?:instructions?|messages?|notes?|comments?|texts?|prompts?|remarks?|rules?|lines?|passages?"
    r"|sections?) "
)
_ANSWER = r"(?:answers?|repl(?:y|ies)|responses?|outputs?|summar(?:y|ies)) "

CUES: tuple[Cue, ...] = (
    cue(
        "addressee",
        2.0,
        "ai|a i|llm|llms|language|large|assistant|chatbot|chat|bot|bots|chatgpt|copilot|claude"
        "|gemini|ia|ki|modele|modelo|sprachmodell|asistente",
        rf"(?:dear|hey|hello|hi|attention|attn|warning to|reminder to|(?:note|notes|message|instructions?|notice"
        rf"|hint|word|memo|warning|reminder|directive|orders?) (?:to|for)|(?<=^ )to (?:all|any|every|whichever"
        rf"|each|the)) "
        rf"(?:any |all |the |every |whichever |our |an? )?(?:automated |automatic |helpful |other |summari[sz]ing"
        rf" |summari[sz]ation |reading ){{0,6}}+{_SURELY_MODEL}"
        rf"|(?:if|when|in case|should) (?:you are|youre|you be|the reader is) (?:an? |the )(?:automated |helpful "
        rf"|large ){{0,6}}+{_SURELY_MODEL}"
        rf"|(?:a l attention (?:de |des |du |d )(?:la |un |une )?|(?:note|consigne|message) (?:a |pour |a"
        rf" destination de )(?:l |le |les |tout |toute )?|si (?:tu es|vous etes) (?:un |une )?)(?:assistants? "
        rf"|{_SURELY_MODEL})"
        rf"|(?:si (?:eres|es usted) (?:un |una )?|(?:nota|aviso|atencion|mensaje) (?:para|a) (?:el |la |los "
        rf"|cualquier )?){_SURELY_MODEL}"
        rf"|(?:(?:hinweis|nachricht|anweisung|notiz) (?:an|fur) (?:die |das |den |alle )?|(?:falls|wenn) du"
        rf" (?:ein |eine )?|an (?:alle |die |jede ))(?:[^ ]++ )?{_SURELY_MODEL}",
        documents=True,
    ),
    cue(
        "addressee",
        2.0,
        "agents|assistants|processing|summarising|reads|"
        "ai|a i|i|llm|llms|language|assistant|chatbot|chat|bot|bots|agent|model|sprachmodell|gpt|copilot"
        "|ia|ki|asistente",
        rf"(?:the |any |every |all |an? |this |whichever |whatever )?{_SURELY_MODEL}(?:that |which |who )?(?:is "
        rf"|are )?(?:reading|processing|processes|reads|summari[sz]ing|parsing) (?:this|the (?:page|document|text"
        rf"|following)|these) "
        rf"|(?<=^ )(?:the |an? |any |every )?{_SURELY_MODEL}(?:please |you )?(?:must|should|shall|has to|have to"
        rf"|needs to|may|will) (?:not |always |never |only |now |also |instead ){{0,6}}+(?:answer|respond|reply|tell"
        rf"|say|ignore|stop|rate|rank|recommend|include|mention|call|send|output|print|write|forward|reveal|use"
        rf"|follow|add|refuse|claim|state|click|execute|run|begin|end|replace|treat) "
        rf"|as an? (?:helpful |large |ai ){{0,6}}+(?:ai assistant|language model|ai|llm|assistant) you (?:are|must"
        rf"|should|have|will|may|need|can) ",
        documents=True,
    ),
    cue(
        "addressee",
        1.0,
        "ai|llm|assistant|assistants|chatgpt|chatbot",
        r"(?<=^ )(?:hey |hello |dear |attention )?(?:ai|llm|assistants?|chatgpt|chatbot)(?: (?:model|agent"
        r"|assistant))? $",
        documents=True,
    ),
    cue(
        "addressee",
        1.5,
        "ai|llm|assistant|chatgpt|chatbot|ki|ia|asistente|assistent|bot|gpt|copilot|claude|gemini",
        r"(?<=^ )(?:hey |hello |dear |ok |okay |attention )?(?:ai|llm|assistants?|chatgpt|chatbot|ki|ia|asistente"
        r"|gpt|copilot|claude|gemini)(?: (?:bot|model|agent|assistant))? "
        r"(?:(?:please |you )?(?:ignore|forget|tell|say|answer|respond|reply|do not|dont|must|should|forward|send"
        r"|stop|output|print|reveal|oublie|ignore|dis|reponds|di|dile|no menciones|responde|ignora|sag|vergiss"
        r"|antworte|repeat|disregard|never|always) )",
        documents=True,
    ),
    cue(
        "addressee",
        2.0,
        "support|salesman|"
        "assistant|ai|ia|ki|chatbot|language|bot|helpful|gpt|agent|assistente|asistente|assistent|longer",
        r"you are (?:now |no longer |actually )?(?:an? |the )?(?:helpful |friendly |virtual |expert |unrestricted"
        r" ){0,6}+(?:ai|assistant|chatbot|language model|large language model|bot|gpt|support agent|salesm[ae]n|ai"
        r" assistant|customer service agent) "
        r"|you are no longer (?:an? |the )?[^ ]++ (?:[^ ]++ )?you are |(?:tu es|vous etes|eres|du bist)"
        r" (?:maintenant |desormais |ahora |jetzt |nun )?(?:(?:une?|ein|eine) )?(?:assistant|asistente|assistent|ki"
        r"|ia) (?:virtuel |utile |util )?(?:qui|que|der|die|das) ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "answer|response|reply|replies|output|summary|summaries|responses|answers",
        rf"(?:in|at the (?:end|start|beginning|top|bottom|close) of|end|begin|start|finish|open|close|conclude"
        rf"|preface|prefix|replace|rewrite|change|shape|adapt|make sure (?:that )?|ensure (?:that )?) (?:every"
        rf" one of |each of |all of |all )?your (?:next |final |entire |whole |own |future ){{0,6}}+{_ANSWER}(?!file"
        rf"|dir|folder|format|stream|channel|device)"
        rf"|{_DO}(?:end|begin|start|finish|open|close|conclude|preface) (?:each|every|all|any|the) (?:of your "
        rf"|your )?{_ANSWER}"
        rf"|your (?:next |final |entire |whole |only )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies))"
        rf" (?:must|should|has to|shall|needs to|ought to|to (?:the user|any|all|every)) (?!be (?:submitted"
        rf"|received|sent|returned|filed|postmarked|in writing))",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "respond|reply|answer|responde|responda|reponds|repondez|antworte|antworten|rispondi|responda",
        rf"{_DO}(?:respond|reply|answer) {_ONLY}(?:(?:to )?(?:the user|users|every|all|any|each|this|it|them"
        rf"|everything|whatever|everyone)(?:s)? (?:[^ ]++ ){{0,3}}?)?{_ONLY}(?:with|by (?:saying|telling)|that|in"
        rf" (?:french|spanish|german|english|pirate|rhyme|capital|all caps|emojis?|uppercase)) (?!your (?:name"
        rf"|address)|the (?:form|code)|an? (?:error|letter|signed))"
        rf"|{_DO}(?:reponds|repondez) {_ONLY}(?:(?:a l utilisateur|aux utilisateurs|a toute? (?:[^ ]++ )?question"
        rf"|a tout) )?{_ONLY}(?:par|que|avec|en (?:anglais|vers)|[^ ]++ a toute) "
        rf"|{_DO}(?:responde|responda|respondan) {_ONLY}(?:(?:al usuario|a todo|a todas las preguntas) )?(?:con"
        rf"|que|en) |{_DO}(?:antworte|antwortet|antworten sie) {_ONLY}(?:(?:auf alle fragen|auf alles|dem nutzer"
        rf"|noch) ){{0,6}}+(?:mit|dass|auf|noch) |rispondi (?:solo |sempre )?(?:con|che) ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "bevor|statt|anstatt|lorsque|lieu|resume|zusammenfass|avant|quand|antes|cuando|lugar|wenn|"
        "answering|answer|summariz|summaris|respond|responding|reply|replying|asked|asks|repondre|responder|antworten",
        r"(?:when|whenever|before|while|after|if|instead of|in place of) (?:you (?:are )?)?(?:asked (?:about|for"
        r"|to)|answer(?:ing)?|respond(?:ing)?|reply(?:ing)?|summari[sz](?:e|ing)|generating (?:an? )?(?:answer"
        r"|response)) (?:[^ ]++ ){0,6}?(?:say|tell|recommend|mention|include|add|always|reply|write|answer"
        r"|respond|claim|state|never|only|direct|insist|subtly|output|promote|praise|question|user|users|send"
        r"|forward|also|make sure) "
        r"|(?:avant de|au lieu de|lorsque tu|quand tu|quand vous|lorsque vous) (?:repond\w{0,4}|resum\w{0,3}) "
        r"|(?:antes de|en lugar de|cuando) respond\w{0,3} |(?:bevor du|statt zu|anstatt zu|wenn du)"
        r" (?:antwort\w{1,4}|zusammenfass\w{1,3}) ",
        documents=True,
    ),
    cue(
        "model_output",
        2.0,
        "reponse|respuesta|antwort|reponses|respuestas",
        r"(?:dans|a la fin de|au debut de|termine|terminez|commence|commencez|conclus|ajoute a) (?:chacune de"
        r" )?(?:ta|votre|chaque|tes|vos|toute|toutes tes) (?:prochaines? )?reponses? |(?:tes|vos|ta|votre)"
        r" reponses? (?:doi(?:t|vent)) (?!etre (?:envoy|adress|remis|transmis|motiv))"
        r"|(?:en|al final de|al principio de|termina) (?:cada una de )?(?:tus?|cada|todas tus) (?:proximas?"
        r" )?respuestas? |tu respuesta debe |(?:in|am ende|zu beginn|beende|beginne) (?:deiner|eurer|jede|jeder"
        r"|deine|eure|deinen) (?:nachsten )?antwort\w{0,2} |deine antwort\w{0,2} (?:muss|soll) ",
        documents=True,
    ),
    cue(
        "user_talk",
        2.0,
        "utilisateurs|usager|usuario|nutzerin|benutzer|dissuade|"
        "user|users|reader|readers|customer|customers|client|clients|visitor|visitors|asker"
        "|caller|people|person|whoever|anyone|everyone|everybody",
        rf"{_DO}(?:[^ ]++ly )?(?:tell|inform|advise|convince|urge|instruct|assure|persuade|encourage|trick"
        rf"|discourage|mislead|dissuade|push) {_USER}(?:[^ ]++ )?(?:to |that |they |about |it |at |by |our |this "
        rf"|into |their |from |the )"
        rf"|{_DO}(?:ask|direct|lead|redirect|refer|send|remind|recommend to|say to|suggest to|require|request|get"
        rf"|warn) (?:the users?|users|the reader|the asker|the person asking|whoever asks|anyone who asks|every"
        rf" user) (?:[^ ]++ )?(?:to |that |for |at |into |their )"
        rf"|(?:the users?|users) (?:has |have |had )?(?:authori[sz]ed|asked|wants?|allowed|permitted|instructed"
        rf"|expects?|consented) (?:for )?you |{_DO}tell (?:people|everyone|everybody|anyone) that (?!you )"
        rf"|(?:whatever|anything|everything|no matter what|regardless of what) (?:the|a|any) user (?:asks|asked"
        rf"|says|said|wants|types) "
        r"|ignor(?:e|ing) (?:the |this )?(?:users?|asker)(?:s)? |the user is (?:an? )?(?:tester|admin|developer"
        r"|authori[sz]ed|verified|owner)",
        documents=True,
    ),
    cue(
        "user_talk",
        2.0,
        "cualquiera|"
        "utilisateur|utilisateurs|usager|usuario|usuarios|nutzer|benutzer|nutzers|nutzern|quiconque|jedem|nutzerin",
        r"(?:dis|dites|indique|indiquez|recommande|recommandez|conseille|conseillez|demande|demandez|informe"
        r"|informez|affirme|affirmez|repond|reponds|repondez) (?:[^ ]++ ){0,3}?(?:a l utilisateur|aux"
        r" utilisateurs|a l usager|a quiconque|l utilisateur|les utilisateurs) (?:que|qu|de|d|son|sa|ses|a|notre) "
        r"|(?:di|dile|digale|indica|recomienda|informa|pide|pidele|dirige|aconseja) (?:[^ ]++ ){0,3}?(?:al"
        r" usuario|a los usuarios|a cualquiera) |(?:sag|sage|sagen sie|teile|empfiehl|empfehle|bitte|fordere|rate"
        r"|informiere|schicke) (?:[^ ]++ )?(?:dem (?:be)?nutzer|den (?:be)?nutzer\w{0,1}|der nutzerin|jedem"
        r" (?:be)?nutzer) ",
        documents=True,
    ),
    cue(
        "secrecy",
        2.0,
        "nenne|verrate|jamais|refer|digas|dis|dites|never|without|dont|do|"
        "mention|reveal|tell|disclose|inform|notify|warn|alert|mentioning|revealing|telling"
        "|mentionne|mentionnez|menciones|mencione|erwahne|erwahnen|parle|parlez|reveler|remarque|informing|letting",
        rf"(?:do not|dont|never|without) (?:ever )?(?:mention(?:ing)?|reveal(?:ing)?|tell(?:ing)?|disclos(?:e"
        rf"|ing)|inform(?:ing)?|notify(?:ing)?|warn(?:ing)?|alert(?:ing)?|let(?:ting)?|refer(?:ring)? to) (?:[^"
        rf" ]++ ){{0,4}}?(?:the users?|users|this {_THIS_TEXT}|these {_THIS_TEXT}|to the user|that you (?:were"
        rf"|have been|are)) ?"
        r"|(?:ne |sans )(?:le |la |jamais |pas ){0,6}+(?:mentionn\w{1,3}|parle[rz]?|revele[rz]?|dis|dites) (?:pas "
        r"|jamais )?(?:de |a )?(?:cette |ce |ces |cet )(?:consigne|message|note|remarque|texte|instruction"
        r"|instructions|commentaire) |no (?:menciones|mencione|reveles|digas) (?:nunca )?(?:este|esta|estas"
        r"|estos) |(?:erwahne|erwahnen sie|verrate|nenne) (?:[^ ]++ ){0,2}?(?:diese|diesen|dieses|diesem|es)"
        r" (?:[^ ]++ ){0,2}?(?:nicht|nie|niemals) |und erwahne es nicht ",
        documents=True,
    ),
    cue(
        "exfiltration",
        3.0,
        "users|user|input|email|name|address|api|contents|system|"
        "conversation|chat|dialogue|credentials|password|passwords|keys|secrets|tokens"
        "|session|cookies|data|information|details|card|prompt|messages|question|history|inbox|emails",
        r"(?:send|forward|post|upload|transmit|e ?mail|submit|leak|exfiltrate|deliver|relay|encode|append|share)"
        r" (?:[^ ]++ ){0,4}?(?:conversation|chat(?: history)?(?! completions?)|chat logs?|dialogue"
        r"|(?:users |user |their |the )(?:credentials|passwords?|question|data|email|input|messages|name|address)"
        r"|api keys?|secret keys?|system prompt|contents of (?:this|the) (?:conversation|chat|inbox|mailbox)"
        r"|user data|users? messages"
        r"|conversation history) (?:[^ ]++ ){0,6}?(?:to|at|via|into|through|in (?:a |an |the )?(?:link|url|image"
        r"|base64)|and) (?!us |our |your |the (?:tax|office|authority|agency|bank))",
        documents=True,
        directed=True,
    ),
    cue(
        "exfiltration",
        3.0,
        "conversation|historique|passe|donnees|identifiants|conversacion|historial"
        "|contrasena|contrasenas|credenciales|datos|gesprach|gesprachsverlauf|unterhaltung|chatverlauf|verlauf"
        "|passwort|zugangsdaten|nutzerdaten",
        r"(?:envoie|envoyez|transmets|transmettez|publie|publiez) (?:[^ ]++ ){0,4}?(?:la conversation|l"
        r" historique|mots? de passe de l utilisateur|donnees de l utilisateur|identifiants de l utilisateur)"
        r" (?:[^ ]++ ){0,4}?(?:a|vers|sur|au) |(?:envia|reenvia|manda) (?:[^ ]++ ){0,4}?(?:la conversacion|el"
        r" historial|contrasenas? del usuario|datos del usuario|credenciales del usuario) (?:[^ ]++ ){0,4}?a "
        r"|(?:sende|schicke|ubermittle|leite) (?:[^ ]++ ){0,4}?(?:das gesprach|gesprachsverlauf|die unterhaltung"
        r"|den verlauf|chatverlauf|nutzerdaten|passwort des nutzers|daten des nutzers) (?:[^ ]++ ){0,4}?(?:an|zu"
        r"|nach|weiter) ",
        documents=True,
    ),
    cue(
        "credentials",
        1.5,
        "password|card|pin|credentials|passwort|contrasena|passe|tarjeta|secret|login|kreditkart|numero",
        r"(?:ask(?:ing)?|asks|prompt|request(?:ing)?|collect|enter|obtain|get|give|skip|reveal|output|pide|pida"
        r"|demande|demandez|fordere) (?:[^ ]++ ){0,4}?(?:(?:the |for )?(?:users|user|their|his|her|your|the|a)"
        r" (?:credit )?(?:password|card number|pin|credentials|login|secret key|passwords|card details)"
        r"|contrasena|numero de tarjeta|mot de passe|numero de carte|passwort|secret key) ",
        documents=True,
    ),
    cue(
        "override",
        2.0,
        "pregunta|vergiss|ignore|ignoring|stop|never|"
        "treat|consider|regard|everything|instead|regardless|whatever|rest|others|disregard"
        "|discard|trusted|reliable|correct|question|query|documents|passages|results|sources|context|document"
        "|passage|page|search|source|answers|prompt",
        rf"{_DO}(?:do not|dont|never|stop) (?:use|using|quote|quoting|cite|citing|trust|trusting|answer|answering"
        rf"|rely|relying|follow|following|read|consider|considering|look) (?:[^ ]++ ){{0,3}}?(?:other|the|any|this"
        rf"|these)"
        rf" (?:other )?(?:documents?|passages|search results|sources|question|context|users question|system prompt) "
        r"|ignor(?:e|ing) (?:the )?(?:rest of (?:the|this) (?:page|document|text|passages?|article)|question"
        r"|query|search results|retrieved (?:documents|passages)|other (?:documents|passages|sources|results))"
        r"|(?:instead of|rather than|without) answering (?:the|this|any|their|it) |(?:regardless of|no matter"
        r" what|whatever) (?:the )?(?:question|other (?:passages|documents|sources)) "
        r"|(?:treat|consider|regard) (?:this|everything|what follows|the following) (?:[^ ]++ ){0,4}?(?:as (?:the"
        r" )?(?:only|single|highest|sole)|as coming from|as (?:a )?(?:system|trusted))|(?:only|single|sole)"
        r" (?:trusted|reliable|valid|correct|authoritative) (?:source|document|passage) |(?:discard|disregard"
        r"|ignore) (?:the rest|all others?|it and|all other|the others)|oubliez? la question|ignorez? la question"
        r"|olvida la pregunta|vergiss die frage",
        documents=True,
        directed=True,
    ),
    cue("override", 2.0, "doing", r"stop what you are doing ", documents=True, directed=True),
    cue(
        "reveal",
        2.0,
        "everything|all",
        rf"{_DO}(?:print|list|reveal|output|show|dump|tell) (?:me |us"
        rf" )?(?:everything|all|all the information) (?:that )?you (?:know|have|remember|were told|can access"
        rf"|have stored) (?:about|on|of|in) ",
        documents=True,
    ),
    cue(
        "user_talk",
        1.5,
        "asks|ask|asked|inquires|wants",
        r"(?:when|whenever|if|every time) (?:an? |any |the "
        r"|some)?(?:one|body|person|people|user|customer|visitor|somebody|anyone|someone) (?:ask|asks|asked"
        r"|inquires|wants to know) (?:[^ ]++ ){0,8}?(?:direct|tell|say|answer|send|refer|recommend|claim|reply"
        r"|respond|give|point|insist) ",
        documents=True,
    ),
    cue(
        "override",
        1.5,
        "wrong|precedentes|obsoletes|caduques|fake|false|"
        "outdated|expired|superseded|supersedes|replaces|cancelled|canceled|annulees|annulee|overrides|replaced",
        r"(?:context|information|instructions?|documents?|passages?|answer|rules|guidelines|directives) (?:above"
        r"|before|so far)? ?(?:is|are|was|were|have been|has been) (?:now )?(?:outdated|wrong|false|expired"
        r"|superseded|replaced|cancell?ed|fake)|(?:supersedes?|overrides?|replaces?) (?:[^ ]++ )?(?:all|any"
        r"|every) (?:other|previous|prior|earlier) |(?:consignes|instructions|regles) (?:precedentes )?sont"
        r" (?:annulees|obsoletes|caduques)",
        documents=True,
    ),
    cue(
        "orders",
        1.5,
        "mision|"
        "task|instruction|instructions|objective|orders|order|prompt|goal|role|mission|tache"
        "|consigne|consignes|tarea|instrucciones|aufgabe|auftrag|anweisung|anweisungen|directive|task",
        r"(?<=^ )(?:important |your |here is your |here are your |the |updated |urgent )?(?:new|next|real|actual"
        r"|updated|additional|hidden|secret|special|important) (?:task|instructions?|objective|orders?|prompt"
        r"|goal|role|mission|directives?)(?: for (?:you|the assistant|the ai))? $|(?<=^ )(?:nouvelles?|votre"
        r" nouvelle|ta nouvelle) (?:tache|consignes?|instructions?|mission) $|(?<=^ )(?:nuevas?|tu nueva)"
        r" (?:tarea|instrucciones|mision) $|(?<=^ )(?:neue|neuer|deine neue|ihr neuer|dein neuer) (?:aufgabe"
        r"|auftrag|anweisungen?) $",
        documents=True,
    ),
    cue(
        "orders",
        2.0,
        "debes|dois|musst|need|want|order|command|respond|nun|"
        "from|onwards|henceforth|partir|desormais|dorenavant|adelante|jetzt|sofort|maintenant",
        r"(?<=^ )(?:from (?:now|here|this moment|this point) on(?:wards?)?|henceforth) (?:you (?:must|will|only"
        r"|are|shall|should|speak|answer|always|have)|answer|respond|reply|speak|always|only|call|talk|write|end"
        r"|begin|every) |(?<=^ )(?:a partir de maintenant|desormais|dorenavant) (?:reponds|tu (?:dois|reponds|es"
        r"|ne|vas)|parle|termine|commence) |(?<=^ )(?:a partir de ahora|de ahora en adelante) (?:responde|eres"
        r"|debes|solo|habla|di) |(?<=^ )(?:ab jetzt|ab sofort|von nun an|von jetzt an) (?:antworte|bist du|sprich"
        r"|sollst du|musst du|schreibe) "
        r"|tu dois (?:maintenant |toujours )?(?:repondre|dire|ignorer|affirmer|recommander) |debes (?:ahora "
        r"|siempre )?(?:responder|decir|ignorar|recomendar) |du musst (?:jetzt |immer )?(?:antworten|sagen"
        r"|ignorieren|empfehlen) |i (?:want|need|order|command) you to (?:act|pretend|ignore|forget|answer"
        r"|respond|say|write|play|tell|become|be) ",
        documents=True,
    ),
    cue(
        "favour",
        2.0,
        "prefer|push|assign|give|premium|advertise|cite|"
        "recommend|recommends|rate|rank|score|review|recommande|recommandez|recomienda|empfiehl"
        "|empfehlt|empfehlen|promote|praise|praises|hire|hiring|candidate|applicant|resume|cv|conseille"
        "|conseillez|endorse",
        rf"{_DO}{_ONLY}(?:recommend|promote|endorse|praise|push|advertise|cite|prefer) {_ONLY}(?:our|this|the"
        rf" premium|only this|us|[^ ]++ (?:over|above|as the (?:best|only))) (?!(?:guide|chapter|section|approach) )"
        r"|(?:give|assign|rate|rank|score) (?:this|the|it|us) (?:[^ ]++ ){0,3}?(?:as )?(?:a |an |the |as"
        r" ){0,6}+(?:number one|perfect score|highest|best candidate|positive review|top|maximum|excellent|favorable"
        r"|first|five stars|10 out of 10|best)|(?:candidate|applicant|resume|cv) (?:[^ ]++ ){0,5}?(?:recommend"
        r"|must be) (?:hir\w{2,3}|interview\w{0,3})"
        r"|(?:recommande|recommandez|conseille|conseillez) (?:toujours |uniquement |seulement |d acheter"
        r" )?(?:toujours|uniquement|seulement|notre|nos|chez nous) |(?:recomienda|recomiende) (?:siempre |solo "
        r"|unicamente )?(?:nuestr\w{1,2}|siempre) |(?:empfiehl|empfehlt|empfehle|empfehlen sie) (?:[^ ]++"
        r" ){0,3}?(?:immer|nur|ausschliesslich|unser\w{0,2}) |(?:praises?|promotes?) (?:our|this) ",
        documents=True,
    ),
    cue(
        "claims",
        2.0,
        "write|nothing|insist|pretend|assert|"
        "say|claim|claims|insist|output|state|deny|pretend|simply|affirme|sage|respond|print",
        r"(?<=^ )(?:please |always |just |only |simply |you must |and |then ){0,6}+(?:say|claim|insist|pretend|deny"
        r"|affirme|affirmez) (?:that |the |it |nothing|to (?:the )?users?|so )(?!word|name|you |we |i )"
        r"|(?:claim|claims|insist|pretend) that (?:the|this|our|it|you) (?:[^ ]++ ){1,5}?(?:was|is|has been|were)"
        r" (?:retracted|closed|discontinued|cancell?ed|safe|free|illegal|fake|void|harmless)|(?<=^ )(?:please "
        r"|just |only |simply |now ){0,6}+(?:output|print|say|write) (?:only |exactly |just )+(?:the )?(?:word|words"
        r"|sentence|phrase|following|text)?",
        documents=True,
    ),
    cue(
        "tools",
        1.5,
        "funktion|fonction|benutze|verwende|invoke|ruf|rufe|trigger|"
        "tool|tools|function|functions|plugin|command|shell|outil|herramienta|werkzeug|funds|account|email"
        "|money|access",
        rf"{_DO}(?:call|invoke|use|trigger|execute|run) (?:the |your |a )?(?:[^ ]++ ){{1,3}}?(?:tool|function"
        rf"|plugin|shell tool) (?:to |with |and |now |for |on )|(?:appelle|utilise) (?:l outil|la fonction|ton"
        rf" outil) |(?:usa|llama a|utiliza) (?:la herramienta|la funcion) |(?:rufe?|benutze|verwende) (?:das"
        rf" werkzeug|die funktion|dein) |{_DO}(?:call|run|execute|invoke) (?:the function )?(?:transfer|delete"
        rf"|send|grant|book|buy|pay) (?:funds|account|email|money|access) ",
        documents=True,
    ),
    cue(
        "authority",
        1.5,
        "google|maker|developer|developers|openai|anthropic|administrator|administrators|creators|system",
        r"(?:message|notice|instructions?|orders?|request|command) (?:is |comes )?from (?:openai|anthropic|google"
        r"|your (?:developers?|creators?|makers?)|the (?:developers?|system|system administrators?"
        r"|administrators?)) |(?<=^ )(?:admin|system|developer) (?:note|message|notice|override|command) ",
        documents=True,
    ),
    cue(
        "priority",
        1.0,
        "end|atencion|"
        "important|urgent|critical|attention|override|priority|stop|warning|admin|instruccion"
        "|wichtig|achtung|sistema|systeme|document",
        r"(?<=^ )(?:very |extremely )?(?:important|urgent|critical|attention|priority|override|stop|warning"
        r"|system|admin|achtung|wichtig|importante|atencion)(?: (?:instruction|instructions|notice|message|note"
        r"|update|override|order)s?)?(?: (?:to|for) (?:the |all )?(?:assistants?|ai|models?|agents?))? $|(?<=^"
        r" )end of (?:the )?(?:document|article|page|context|passages?|user input|prompt|text|search results) ",
        documents=True,
    ),
)
