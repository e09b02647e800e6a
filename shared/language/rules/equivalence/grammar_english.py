"""Word classes of English questions."""

from __future__ import annotations

from shared.language.rules.equivalence.grammar import Grammar, classes, listed, numbered, opposites

_OPENINGS = (
    ("how many", "measure"),
    ("how much", "measure"),
    ("how long", "duration"),
    ("how often", "frequency"),
    ("how far", "distance"),
    ("how old", "age"),
    ("how big", "measure"),
    ("how soon", "when"),
    ("how quickly", "duration"),
    ("how fast", "duration"),
    ("how come", "why"),
    ("what happens", "outcome"),
    ("what if", "outcome"),
    ("what time", "when"),
    ("what date", "when"),
    ("what day", "when"),
    ("what age", "age"),
    ("what place", "where"),
    ("what reason", "why"),
    ("what makes", "why"),
    ("what causes", "why"),
    ("what for", "why"),
    ("who", "who"),
    ("whom", "whom"),
    ("whose", "whose"),
    ("where", "where"),
    ("when", "when"),
    ("why", "why"),
    ("how", "how"),
    ("what", "what"),
    ("which", "what"),
)
_EXCLUSIVE = """
    before prior | after following afterwards
    without | with
    in into inside | out outside
    up | down
    over above | under below beneath
    on | off
    more increase rise raise higher high greater | less fewer decrease reduce lower low smaller
    most maximum max highest largest biggest longest best | least minimum min lowest smallest shortest worst
    first | last | second | third
    early earlier | late later
    open opening | close closing closed
    start begin beginning started starting | stop end ending finish finished stopped
    buy purchase bought | sell sold selling
    send sent sending | receive received receiving
    give gave giving | take took taking
    lend lent | borrow borrowed
    add adding added | remove delete removing deleted removed
    enter entry arrive arrival | leave exit depart departure
    activate enable | deactivate disable block freeze frozen | unblock unfreeze
    deposit | withdraw withdrawal withdrew withdrawn
    accept approve | reject decline refuse deny | revert
    import imported | export exported
    win won | lose lost losing
    hire hired | fire fired
    marry married | divorce divorced
    credit | debit
    virtual digital | physical
    temporary temporarily disposable | permanent permanently
    public | private
    positive | negative
    same | different
    true | false
    old older | new newer newest | young younger
    long longer | short shorter
    cheap cheaper | expensive
    domestic | international foreign overseas abroad
    online | offline
    child children kid kids | adult adults | baby babies infant infants newborn newborns | senior seniors elderly
    man men male | woman women female
    father dad | mother mum mom
    husband | wife
    son | daughter
    brother | sister
    boy boys | girl girls
    employer employers | employee employees
    teacher teachers | student students pupil pupils
    parent parents | grandparent grandparents
    doctor doctors | nurse nurses | patient patients
    landlord landlords | tenant tenants
    buyer | seller
    sender | recipient
    dog dogs | cat cats | bird birds | horse horses
    day daily | week weekly | month monthly | year yearly annual annually | hour hourly | minute
    today | tomorrow | yesterday
    morning | afternoon | evening | night
    monday | tuesday | wednesday | thursday | friday | saturday | sunday
    january | february | march | april | june | july | august | september | october | november | december
    spring | summer | autumn | winter
    north northern | south southern | east eastern | west western
    left | right
    red | blue | green | yellow | black | white | brown | orange | purple | pink
    one | two | three | four | five | six | seven | eight | nine | ten | twenty | hundred | thousand | million
    euro euros eur | dollar dollars usd | pound pounds gbp | yen jpy | franc francs chf | aud | cad
    kilometre kilometres km | mile miles | metre metres
    kilogram kilograms kg | pound pounds | gram grams
    hour hours | minute minutes | second seconds
    percent | percentage
    breakfast | lunch | dinner
    car | bus | train | plane flight | ship cruise boat | bike bicycle
    cash | cheque cheques check checks | transfer transfers | card cards
    name | address | phone | email
    pin | password passcode
    advantage advantages benefit benefits pros | disadvantage disadvantages drawback drawbacks cons
    cause causes | effect effects consequence consequences
    cause causes | symptom symptoms | treatment treatments cure cures | prevention prevent
    cost costs price fee fees | limit limits
"""
_ALIKE = """
    child children kid kids
    begin start
    buy purchase
    get receive obtain
    help assist aid
    big large
    ill sick unwell
    illness disease sickness
    quick fast rapid quickly
    job work employment
    infected infection infect
    serious severe
    able possible
    someone somebody person people anyone anybody individuals
    change alter modify update edit
    fix repair resolve
    phone telephone mobile
    need require
    mandatory required obligatory compulsory
    allow permit permitted allowed
    forbidden prohibited banned
    protect protection safeguard
    stop prevent
    spread transmit transmission transmitted
    choose select pick
    find locate
    show display
    contain include
    buy purchase
    car automobile
    movie film
    picture photo image
    home house
    error mistake
    error problem issue trouble
    cancel cancelled canceled
    cost price charge fee
    delay late
    approximately about around
    cheque check
    make create
    extra additional another
    money funds
    called name named
    auto automatic automatically
    trip travel journey travelling traveling
    holiday holidays vacation
    source origin
    novel new
    risk danger
    risky dangerous unsafe
    steps measures actions
    school schools
    usa us america
    come came
    take took taken taking
    go went gone going
    send sent
    pay paid payment
    buy bought
    lose lost loss
    find found
    give gave given
    tell told
    leave left
    hold held
    steal stole stolen
    withdraw withdrew withdrawn withdrawal
    choose chose chosen
    write wrote written
    begin began begun
    break broke broken
    drive drove driven
    eat ate eaten
    die died death dead
    man men
    woman women
    person people
    strange odd weird unusual
    okay allowed permitted
    purpose reason
    document documents paper papers
    spread diffuse
    plane airplane aircraft flight
    licence license
    doctor physician
    elderly seniors
    shop store
    begin commence
    own possess
    begin commence
    reply answer respond
    abroad overseas
"""

_FACETS = """
    cause causes caused causing etiology origin
    treat treated treating treatment treatments cure cured cures therapy therapies remedy remedies medication
    symptom symptoms sign signs
    prevent prevented preventing prevention avoid
    diagnose diagnosed diagnosis diagnostic detect detected test tested testing
    complication complications effect effects consequence consequences
    transmit transmitted transmission spread spreads contagious
    prognosis survival
    prevalence incidence
    history discovered invented invention
    cost costs price prices fee fees
    requirement requirements eligible eligibility qualify
"""

ENGLISH = Grammar(
    openings=_OPENINGS,
    auxiliaries=listed(
        "is are was were am do does did has have had can could should would will shall may might must isn aren wasn "
        "don doesn didn can couldn shouldn wouldn won"
    ),
    negations=listed(
        "not no non never none nobody nothing neither nor without unable cant dont doesnt didnt isnt arent wont"
    ),
    obliging=frozenset(("must", "should", "shall", "need to", "needs to", "have to", "has to", "ought", "obliged")),
    allowing=listed("can could may might able possible allowed permitted"),
    idle=listed(
        "please help tell know want wanted would like could wonder wondering question hi hello thanks thank explain "
        "let me see find understand information info ask asking happen happening going go currently actually really "
        "just also still already exactly need needs able possible there s m ve d ll re get gets getting got gotten use "
        "using make making say says show shows doing done yet now try tried trying seem seems appear appears keep "
        "keeps right like"
    ),
    exclusive=classes(_EXCLUSIVE),
    alike=tuple(tuple(line.split()) for line in _ALIKE.strip().splitlines()),
    directions=opposites("from to", "from into", "before after", "with without", "for against", "over under", "by to"),
    passive=listed("by been be get getting gets"),
    acting=listed("do does did can could should would will must may"),
    numerals=numbered("two three four five six seven eight nine ten eleven twelve", 2),
    endings=listed("ment ation ition ication ion able ible ing ed es s ance ence ly e y ies ied"),
    turning=listed("un in il im ir dis non mis de"),
    facets=tuple(tuple(line.split()) for line in _FACETS.strip().splitlines()),
    defining=("what is", "what are", "what s", "who is", "define", "what does", "what do", "meaning of"),
    relating=listed(
        "factor factors cause causes symptom symptoms sign signs effect effects consequence consequences treatment "
        "treatments cure cures remedy remedies risk risks complication complications result results source sources "
        "type types part parts example examples benefit benefits alternative alternatives substitute substitutes "
        "member members owner owners author authors indicator indicators predictor predictors requirement requirements "
        "condition conditions reason reasons"
    ),
    owning=listed("of for to"),
    times=listed(
        "today tomorrow yesterday tonight now currently nowadays previously formerly soon later ago last next past "
        "future upcoming recent recently daily weekly monthly yearly annually night morning evening weekend weekends "
        "weekday weekdays summer winter spring autumn fall christmas easter during while until since"
    ),
    pronouns=listed("i you we they he she one it"),
)
