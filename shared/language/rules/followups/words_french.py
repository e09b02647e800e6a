"""French word lists of the query-rewriting rules, without accents."""

from __future__ import annotations

from shared.language.rules.followups.topics import word_set

ARTICLES = word_set("le la les l' un une des du d' ce cet cette ces mon ma mes notre nos votre vos")
SUBJECTS = word_set("je tu il elle on nous vous ils elles j' il-y-a")
#: Relational nouns: they need a complement (les délais de X).
RELATIONAL = word_set(
    "type types sorte sortes genre genres forme formes version versions exemple exemples partie parties element "
    "elements membre membres caracteristique caracteristiques theme themes histoire origine origines debut auteur "
    "auteurs createur inventeur proprietaire cause causes raison raisons effet effets impact impacts consequence "
    "consequences resultat resultats symptome symptomes signe signes traitement traitements risque risques danger "
    "dangers avantage avantages benefice benefices inconvenient inconvenients limite limites usage usages "
    "utilisation application applications but buts objectif objectifs role roles fonction fonctions importance "
    "signification sens definition difference differences ressemblance ressemblances relation alternative "
    "alternatives option options condition conditions exigence exigences regle regles critere criteres etape "
    "etapes phase phases delai delais echeance date dates duree cout couts prix tarif tarifs montant montants "
    "taux frais taille age population capitale adresse horaire horaires plafond plafonds demarche demarches "
    "document documents piece pieces justificatif justificatifs ingredient ingredients source sources"
)
LIGHT = word_set(
    "principal principale principaux principales autre autres different differents differente differentes "
    "important importants importante importantes possible possibles premier premiere dernier derniere nouveau "
    "nouvelle nouveaux actuel actuels actuelle actuelles meilleur meilleure meilleurs meilleures plus moins grand "
    "grande petits exact exacte exacts necessaire necessaires general generale"
)
#: Feminine nouns that take `son` without beginning with a vowel.
FEMININE = word_set("hauteur histoire")
#: Words that end a noun phrase.
ENDS = word_set(
    "pour dans en sur avec sans par chez vers sous entre apres avant pendant depuis contre a au aux et ou mais "
    "donc si quand lorsque qui que qu' quoi dont ou comment pourquoi combien est sont etait etaient sera seront a "
    "ont avait peut peuvent doit doivent fait font se s' ne n' y t-il t-elle est-il est-elle sont-ils sont-elles "
    "marche fonctionne coute coutent dure durent commence finit ouvre ferme existe existent permet permettent "
    "sert servent concerne"
)
#: Polite openings of a request or question.
TELLING = (
    r"^\W*(?:et |alors )?(?:(?:parle|parlez|dis|dites|raconte|racontez)(?:-| )(?:moi|nous) (?:plus |davantage )?"
    r"(?:de |du |d['’]|des |sur )|(?:décris|décrivez|explique|expliquez)(?:-(?:moi|nous))? |c['’]est quoi "
    r"|qu['’]est[- ]ce (?:que c['’]est que |que |qu['’])|qui (?:est|était|sont|étaient) "
    r"|que (?:sais-tu|savez-vous) (?:de |du |d['’]|des |sur ))"
)
