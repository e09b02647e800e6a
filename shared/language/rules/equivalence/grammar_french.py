"""Word classes of French questions."""

from __future__ import annotations

from shared.language.rules.equivalence.grammar import Grammar, classes, listed, numbered, opposites

_OPENINGS = (
    ("combien de temps", "duration"),
    ("combien", "measure"),
    ("a quelle heure", "when"),
    ("a quelle date", "when"),
    ("quel age", "age"),
    ("depuis quand", "duration"),
    ("qui", "who"),
    ("ou", "where"),
    ("quand", "when"),
    ("pourquoi", "why"),
    ("comment", "how"),
    ("est ce que", "whether"),
    ("que", "what"),
    ("qu", "what"),
    ("quoi", "what"),
    ("quel", "what"),
    ("quelle", "what"),
    ("quels", "what"),
    ("quelles", "what"),
    ("lequel", "what"),
)
_EXCLUSIVE = """
    avant | apres
    sans | avec
    dans dedans | hors dehors
    sur | sous
    plus augmenter augmentation hausse superieur | moins diminuer diminution baisse reduire inferieur
    maximum maximal | minimum minimal
    premier premiere | dernier derniere | deuxieme second seconde
    ouvrir ouverture | fermer fermeture
    commencer debuter debut | finir terminer arreter fin
    acheter achat | vendre vente
    envoyer envoi | recevoir reception
    donner | prendre
    preter pret | emprunter emprunt
    ajouter ajout | supprimer retirer suppression
    entrer entree arriver arrivee | sortir sortie partir depart
    activer activation | desactiver bloquer
    accepter accepte | refuser refus rejete rejeter
    public publique | prive privee
    positif positive | negatif negative
    meme | different differente
    nouveau nouvelle | ancien ancienne vieux vieille
    long longue | court courte
    enfant enfants | adulte adultes | bebe bebes
    homme hommes | femme femmes
    pere | mere
    mari | epouse
    fils | fille
    frere | soeur
    employeur employeurs | employe employes salarie salaries
    proprietaire proprietaires | locataire locataires
    acheteur | vendeur
    jour jours | semaine semaines | mois | an ans annee annees | heure heures | minute minutes
    aujourd | demain | hier
    matin | soir | nuit
    lundi | mardi | mercredi | jeudi | vendredi | samedi | dimanche
    janvier | fevrier | mars | avril | mai | juin | juillet | aout | septembre | octobre | novembre | decembre
    printemps | ete | automne | hiver
    nord | sud | est | ouest
    gauche | droite
    rouge | bleu bleue | vert verte | noir noire | blanc blanche
    un une | deux | trois | quatre | cinq | six | sept | huit | neuf | dix | cent | mille
    euro euros | dollar dollars | livre livres | franc francs
    voiture voitures | bus | train trains | avion avions | bateau bateaux
    avantage avantages | inconvenient inconvenients
    cause causes | consequence consequences effet effets | symptome symptomes | traitement traitements
    cout couts prix tarif tarifs | delai delais | plafond limite limites
"""
_ALIKE = """
    commencer debuter
    aide aider
    changer modifier
    besoin necessaire
    obligatoire oblige
    permis autorise
    interdit defendu
    maladie affection
    travail emploi
    payer regler
    cout prix tarif
    obtenir recevoir
    demande demander
    enfant enfants
"""

_FACETS = """
    cause causes causer cause origine
    traiter traite traitement traitements guerir soigner soigne remede remedes therapie medicament medicaments
    symptome symptomes signe signes
    prevenir prevention eviter
    diagnostic diagnostiquer depister depistage detecter test tests
    complication complications effet effets consequence consequences
    transmettre transmet transmission contagieux contagieuse propager propage
    pronostic survie
    prevalence incidence
    histoire historique invente invention decouvert
    cout couts prix tarif tarifs
    condition conditions eligible eligibilite
"""

FRENCH = Grammar(
    openings=_OPENINGS,
    auxiliaries=listed("peut peux puis pouvons pouvez doit dois faut est sont a ont y"),
    negations=listed("ne n pas jamais aucun aucune rien sans personne ni non"),
    obliging=listed("doit dois doivent devons devez faut falloir obligatoire oblige"),
    allowing=listed("peut peux peuvent pouvons pouvez puis possible autorise permis droit"),
    idle=listed(
        "s il vous plait bonjour merci aider aide savoir connaitre voudrais souhaite souhaiterais aimerais expliquer "
        "dire informations renseignement question est ce que faire fait"
    ),
    exclusive=classes(_EXCLUSIVE),
    alike=tuple(tuple(line.split()) for line in _ALIKE.strip().splitlines()),
    directions=opposites("de vers", "de a", "de pour", "avant apres", "avec sans", "pour contre", "sur sous", "par a"),
    passive=listed("par ete etre"),
    acting=listed("peut peux puis pouvons pouvez peuvent doit dois devons devez doivent"),
    numerals=numbered("deux trois quatre cinq six sept huit neuf dix onze douze", 2),
    endings=listed("ment ation ition ion able ible er e es ee ees s age ance ence ent ons ez"),
    turning=listed("in il im ir de des non mal"),
    pronouns=listed("je j tu on nous vous il elle ils elles"),
    facets=tuple(tuple(line.split()) for line in _FACETS.strip().splitlines()),
    defining=(
        "qu est ce que",
        "qu est ce qu",
        "qu est",
        "c est quoi",
        "que signifie",
        "quelle est la definition",
        "quel est le sens",
    ),
    relating=listed(
        "facteur facteurs cause causes symptome symptomes signe signes effet effets consequence consequences "
        "traitement traitements remede remedes risque risques complication complications resultat resultats "
        "source sources type types partie parties exemple exemples avantage avantages alternative alternatives "
        "membre membres proprietaire auteur auteurs indicateur indicateurs condition conditions raison raisons"
    ),
    owning=listed("de du des d pour a au aux"),
    times=listed(
        "aujourd demain hier maintenant actuellement auparavant bientot prochain prochaine dernier derniere passe "
        "passee futur future quotidien hebdomadaire mensuel annuel nuit matin soir ete hiver printemps automne noel "
        "paques pendant durant depuis"
    ),
)
