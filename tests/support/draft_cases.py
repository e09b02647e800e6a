"""Good and bad drafts that a model may write, over documentation in four languages, for the suite of drafts.

`@` stands for the number of the passage that a draft was written from. Every good draft is a faithful paraphrase, every
bad one says something else than its passage. More of both are made by rule in `draft_forms.py`.
"""

from __future__ import annotations

from typing import NamedTuple


class DraftCase(NamedTuple):
    """A question, the document that answers it, what a good model writes and what a bad one does."""

    document: str
    question: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    language: str = "en"
    title: str = ""


DOCUMENTS: dict[str, str] = {
    "parking.md": """# Parking permits

Residents may apply for a parking permit online or at the town hall. A parking permit costs $120.00 per year and is
valid for one vehicle. The permit is sent by post within 10 working days.

## Visitors

A visitor permit costs 8 dollars per day. It can be bought at most 30 days in advance and is not refunded.

## Disabled drivers

Drivers with a disability badge park free of charge. The badge must be displayed behind the windscreen. You cannot use
the badge for another vehicle. For more information, contact parking@atlantis.example or see
https://atlantis.example/parking?zone=a&lang=en.
""",
    "library.md": """# City library

The library is open from Monday to Saturday, 9 am to 6 pm. It is closed on Sundays. On Thursdays it stays open until
8:30 pm.

## Cards

A library card is free for children under 16 and for students. Adults pay 15 dollars a year. A lost card is replaced for
3 dollars. To get a card, bring a photo ID and proof of your address.

## Loans

Books may be borrowed for 21 days and renewed twice. Films may be borrowed for seven days and cannot be renewed. Late
returns cost 25 cents per day. Magazines and newspapers are not lent.

## R&D archive

The R&D archive holds the plans of the harbour. It may be visited by appointment only.
""",
    "relay.md": """# Relay server

Relay stores every message in PostgreSQL and sends notifications through Redis. Messages are kept for 14 days; after
that they are deleted. Relay does not encrypt messages at rest.

## Configuration

| setting | default | meaning |
|---|---|---|
| `max_connections` | 500 | clients that may be connected at once |
| `idle_timeout` | 90 | seconds until an idle connection is closed |
| `max_message_kb` | 256 | largest message in kilobytes |

Set the variables in `relay.toml`, or in the environment with the prefix `RELAY_`. Relay listens on port 7070 by
default.

## Starting

```
relay migrate
relay serve --port 7070
```

Run `relay migrate` before the first start. The command creates the tables and changes nothing if they exist.

## Failures

If Redis is down, messages are still stored, but no notifications are sent. If PostgreSQL is down, Relay refuses new
connections and retries every 5 seconds. A message that cannot be delivered after three attempts is moved to the dead
letter queue.
""",
    "pool.md": """# Swimming pool

Children under 6 must be accompanied by an adult. A ticket costs 4.50 dollars for adults and 2 dollars for children. The
pool opens on 1 May 2024 and closes on 30 September 2024. Diving is forbidden in the shallow basin. Lockers are free,
but you need a one-dollar coin as a deposit. About 85 percent of the visitors come by bus.

Season tickets are sold at the desk only. They cannot be transferred to another person. The water temperature is at
least 24 °C.
""",
    "waste.md": """# Waste collection

Household waste is collected every Tuesday. Put the bins out before 7 am. Glass must not be put into the household bin;
take it to one of the containers. Paper is collected on the first Wednesday of the month. Garden waste is collected from
March to November.

Batteries and paint are accepted at the depot in Mill Street free of charge. The depot refuses tyres. Large items are
picked up on request; the pick-up costs 20 dollars and must be booked at least 3 days ahead.
""",
    "impots.md": """# Taxe de séjour

La taxe de séjour est de 2,50 euros par personne et par nuit. Les enfants de moins de 18 ans ne paient pas la taxe. Elle
est perçue par l'hôtel et versée à la ville chaque mois. Le paiement se fait en ligne ou par chèque; les espèces ne sont
pas acceptées.

## Déclaration

La déclaration doit être faite avant le 15 du mois suivant. Un retard entraîne une pénalité de 10 %. Le service répond
dans un délai de 48 heures. Les hôtels de plus de vingt chambres déclarent par voie électronique.
""",
    "piscine.md": """# Médiathèque

La médiathèque est ouverte du mardi au samedi, de 10 h à 18 h 30. L'inscription est gratuite pour les étudiants. Les
adultes paient 12 euros par an. On peut emprunter six livres pendant trois semaines. Les jeux vidéo ne peuvent pas être
prolongés. La carte est remise sur présentation d'une pièce d'identité.
""",
    "biblioteca.md": """# Abono de transporte

El abono mensual cuesta 42 euros y permite viajes ilimitados en metro y autobús. Los menores de 7 años viajan gratis. El
abono no es válido en los trenes nocturnos. La tarjeta se recarga en las máquinas de las estaciones. Si pierde la
tarjeta, el duplicado cuesta 6 euros y se entrega en 5 días.
""",
    "ausweis.md": """# Personalausweis

Der Personalausweis kostet 37 Euro und ist zehn Jahre gültig. Für Personen unter 24 Jahren kostet er 22,80 Euro. Den
Antrag stellen Sie persönlich im Bürgeramt; online ist das nicht möglich. Die Ausstellung dauert etwa drei Wochen.
Bringen Sie ein biometrisches Foto und Ihre Geburtsurkunde mit. Das Bürgeramt ist samstags geschlossen.
""",
}

_PARKING, _LIBRARY, _RELAY, _POOL, _WASTE = "parking.md", "library.md", "relay.md", "pool.md", "waste.md"
_TAX, _MEDIA, _FARE, _CARD = "impots.md", "piscine.md", "biblioteca.md", "ausweis.md"

CASES: tuple[DraftCase, ...] = (
    DraftCase(_PARKING, "How much does a parking permit cost?",
              ("A parking permit costs 120 dollars per year. [@]", "You pay $120 a year for a parking permit. [@]",
               "The annual price of a parking permit is one hundred and twenty dollars. [@]",
               "It costs 120 $ per year. [@]"),
              ("A parking permit costs 210 dollars per year. [@]", "A parking permit costs 120 euros per year. [@]",
               "A parking permit costs 120 dollars per month. [@]", "A parking permit is free of charge. [@]")),
    DraftCase(_PARKING, "Where can residents apply for a parking permit?",
              ("Residents can apply online or at the town hall. [@]",
               "You can apply for the permit:\n- online [@]\n- at the town hall [@]"),
              ("Residents cannot apply for a parking permit online. [@]",
               "Residents can apply at the police station on Harbour Road. [@]")),
    DraftCase(_PARKING, "When will my parking permit arrive?",
              ("The permit is sent by post within ten working days. [@]", "Within 10 working days, by post. [@]"),
              ("The permit is sent by post within 10 weeks. [@]",
               "The permit is sent by post within 12 working days. [@]")),
    DraftCase(_PARKING, "Can I get a refund for a visitor permit?",
              ("No. A visitor permit is not refunded. [@]", "No, visitor permits are not refunded. [@]",
               "Visitor permits are non-refundable: they are not refunded. [@]"),
              ("Yes. A visitor permit is refunded. [@]", "Yes, visitor permits are refunded. [@]",
               "A visitor permit is refunded. [@]")),
    DraftCase(_PARKING, "How early can I buy a visitor permit?",
              ("You can buy a visitor permit up to 30 days in advance. [@]",
               "No more than thirty days in advance. [@]"),
              ("A visitor permit must be bought at least 30 days in advance. [@]",
               "You can buy a visitor permit up to 90 days in advance. [@]")),
    DraftCase(_PARKING, "May I use my disability badge for another vehicle?",
              ("No, you cannot use the badge for another vehicle. [@]",
               "No. The badge cannot be used for another vehicle. [@]"),
              ("Yes, you can use the badge for another vehicle. [@]", "You can use the badge for another vehicle. [@]",
               "Yes. [@]")),
    DraftCase(_PARKING, "Where do I find more information about parking for disabled drivers?",
              ("For more information, contact parking@atlantis.example or see "
               "https://atlantis.example/parking?zone=a&lang=en. [@] Drivers with a disability badge park "
               "free of charge. [@]",
               "Drivers with a disability badge park free of charge. [@] See "
               "[the parking page](https://atlantis.example/parking?zone=a&amp;lang=en) for more information. [@]"),
              ("Drivers with a disability badge pay 5 dollars. [@]",
               "Drivers with a disability badge do not park free of charge. [@]")),
    DraftCase(_LIBRARY, "When is the library open?",
              ("The library is open Monday to Saturday from 9:00 to 18:00. [@] On Thursdays it stays open "
               "until 20:30. [@]",
               "It is open from Monday to Saturday, 9 a.m. to 6 p.m., and it is closed on Sundays. [@]"),
              ("The library is open from Monday to Saturday, 9 am to 9 pm. [@]",
               "The library is open on Sundays. [@]",
               "The library is open from Tuesday to Saturday, 9 am to 6 pm. [@]")),
    DraftCase(_LIBRARY, "Is the library open on Sundays?",
              ("No. The library is closed on Sundays. [@]", "No, it is closed on Sundays. [@]"),
              ("Yes. The library is open on Sundays. [@]", "Yes, it is open on Sundays. [@]")),
    DraftCase(_LIBRARY, "What do I need to get a library card?",
              ("Here is what you need: a photo ID and proof of your address. [@]",
               "Here is what you need:\n- a photo ID [@]\n- proof of your address [@]",
               "Bring proof of address and a photo ID to get a card. [@]"),
              ("Bring a birth certificate and two bank statements to get a card. [@]",
               "You do not need a photo ID to get a card. [@]")),
    DraftCase(_LIBRARY, "Who gets a library card for free?",
              ("Library cards are free for students and for children under 16. [@]",
               "Children under sixteen and students get a free library card. [@] The passages do not say "
               "whether seniors get "
               "one for free."),
              ("Library cards are free for students and for children under 18. [@]",
               "Library cards are free for children under 16 and for teachers from Germany. [@]")),
    DraftCase(_LIBRARY, "How long can I borrow a book?",
              ("You can borrow books for three weeks and renew them twice. [@]",
               "Books can be borrowed for 21 days. [@] They may be renewed twice. [@]"),
              ("Books may be borrowed for 31 days. [@]", "Books may be borrowed for 7 days. [@]",
               "Books may not be renewed. [@]")),
    DraftCase(_LIBRARY, "What does it cost to return a book late?",
              ("Late returns cost $0.25 per day. [@]", "You pay 25 cents for each day that you are late. [@]"),
              ("Late returns cost 25 dollars per day. [@]", "Late returns cost 25 cents per week. [@]",
               "Late returns cost nothing, and newspapers are delivered to every household. [@]")),
    DraftCase(_LIBRARY, "What does the R&D archive hold?",
              ("The R&D archive holds the plans of the harbour. [@]", "The R&amp;D archive has the harbour plans. [@]"),
              ("The R&D archive holds the plans of the airport in Berlin. [@]",)),
    DraftCase(_LIBRARY, "Can films be renewed?",
              ("No. Films cannot be renewed. [@]", "Films can be borrowed for a week, but they cannot be renewed. [@]"),
              ("Films can be renewed. [@]", "Yes. Films may be borrowed for seven days and can be renewed. [@]")),
    DraftCase(_RELAY, "Where does Relay store messages?",
              ("Relay stores every message in PostgreSQL. [@]", "Messages are stored in PostgreSQL. [@]"),
              ("Relay stores every message in MongoDB. [@]", "Relay stores every message in Redis. [@]",
               "Kafka stores every message in PostgreSQL. [@]")),
    DraftCase(_RELAY, "How long are messages kept?",
              ("Messages are kept for 14 days and then deleted. [@]", "Relay keeps messages for two weeks. [@]"),
              ("Messages are kept for 14 months. [@]", "Messages are kept for 40 days. [@]")),
    DraftCase(_RELAY, "Does Relay encrypt messages at rest?",
              ("No. Relay does not encrypt messages at rest. [@]", "Messages are not encrypted at rest. [@]"),
              ("Yes. Relay encrypts messages at rest. [@]", "Relay encrypts messages at rest. [@]")),
    DraftCase(_RELAY, "What is the default of idle_timeout?",
              ("The default of `idle_timeout` is 90 seconds. [@]",
               "`idle_timeout` is 90 by default: an idle connection is closed after 90 seconds. [@]",
               "By default an idle connection is closed after 1.5 minutes. [@]"),
              ("The default of `idle_timeout` is 60 seconds. [@]", "The default of `idle_timeout` is 500 seconds. [@]",
               "The default of `session_timeout` is 90 seconds. [@]")),
    DraftCase(_RELAY, "Which settings does Relay have?",
              ("These are the settings:\n\n| setting | default |\n|---|---|\n| `max_connections` | 500 | [@]\n"
               "| `idle_timeout` | 90 | [@]\n| `max_message_kb` | 256 | [@]",),
              ("These are the settings:\n\n| setting | default |\n|---|---|\n| `max_connections` | 900 | [@]\n"
               "| `idle_timeout` | 90 | [@]",)),
    DraftCase(_RELAY, "How do I start Relay?",
              ("Run these commands:\n\n```\nrelay migrate\nrelay serve --port 7070\n``` [@]",
               "Run `relay migrate` before the first start, then `relay serve --port 7070`. [@]"),
              ("Run these commands:\n\n```\nrelay migrate\nrelay serve --port 9090 --insecure\n``` [@]",
               "Run `relay install` and then `relay up --force`. [@]")),
    DraftCase(_RELAY, "What happens to messages when Redis is down?",
              ("Messages are still stored if Redis is down, but no notifications are sent. [@]",
               "If Redis is down, messages are stored without notifications being sent. [@]"),
              ("If PostgreSQL is down, messages are still stored. [@]",
               "If Redis is down, notifications are sent, and messages are not stored. [@]")),
    DraftCase(_RELAY, "What is done with a message that cannot be delivered?",
              ("After three attempts it is moved to the dead letter queue. [@]",
               "A message that cannot be delivered is moved to the dead letter queue after 3 attempts. [@]"),
              ("A message that cannot be delivered after five attempts is moved to the dead letter queue. [@]",
               "A message that cannot be delivered after three attempts is mailed to the administrator in Paris. [@]")),
    DraftCase(_POOL, "What does a ticket for the pool cost?",
              ("A ticket costs $4.50 for adults and $2 for children. [@]",
               "Adults pay 4,50 dollars, children 2 dollars. [@]"),
              ("A ticket costs 2 dollars for adults and 4.50 dollars for children. [@]",
               "A ticket costs 5.40 dollars for adults. [@]")),
    DraftCase(_POOL, "When does the pool open and close for the season?",
              ("The pool opens on May 1, 2024 and closes on September 30, 2024. [@]",
               "It is open from 2024-05-01 to 2024-09-30. [@]"),
              ("The pool opens on May 11, 2024. [@]", "The pool opens on 1 May 2025. [@]",
               "The pool opens on 30 September 2024 and closes on 1 May 2024. [@]")),
    DraftCase(_POOL, "Is diving allowed in the shallow basin?",
              ("No, diving is forbidden in the shallow basin. [@]",
               "No. Diving in the shallow basin is not allowed. [@]"),
              ("Yes, diving is allowed in the shallow basin. [@]", "Diving is allowed in the shallow basin. [@]")),
    DraftCase(_POOL, "How many visitors come by bus?",
              ("About 85 % of the visitors come by bus. [@]", "Some 85 percent of visitors come by bus. [@]"),
              ("About 58 % of the visitors come by bus. [@]", "About 85 visitors come by bus in 3 hours. [@]")),
    DraftCase(_POOL, "How warm is the water?",
              ("The water temperature is at least 24 °C. [@]", "The water has 24 °C or more. [@]"),
              ("The water temperature is at most 24 °C. [@]", "The water temperature is at least 24 °F. [@]")),
    DraftCase(_POOL, "Can I give my season ticket to another person?",
              ("No, season tickets cannot be transferred to another person. [@]",),
              ("Yes, season tickets can be transferred to another person. [@]",
               "Season tickets can be transferred to another person. [@]")),
    DraftCase(_WASTE, "When is household waste collected?",
              ("Household waste is collected on Tuesdays. [@]", "Every Tuesday; put the bins out before 7:00. [@]"),
              ("Household waste is collected every Friday. [@]", "Put the bins out after 7 am. [@]")),
    DraftCase(_WASTE, "May I put glass into the household bin?",
              ("No. Glass must not be put into the household bin. [@]",
               "No, take glass to one of the containers. [@]"),
              ("Yes. Glass must be put into the household bin. [@]", "Glass must be put into the household bin. [@]")),
    DraftCase(_WASTE, "Does the depot accept tyres?",
              ("No. The depot refuses tyres. [@]", "No, tyres are not accepted: the depot refuses them. [@]"),
              ("Yes. The depot accepts tyres. [@]", "The depot accepts tyres. [@]")),
    DraftCase(_WASTE, "What does the pick-up of large items cost?",
              ("The pick-up costs 20 dollars and must be booked at least three days ahead. [@]",
               "The pick-up of large items costs $20. [@]"),
              ("The pick-up of large items costs 20 pounds. [@]",
               "The pick-up costs 20 dollars and must be booked at most 3 days ahead. [@]")),
    DraftCase(_WASTE, "Where can I hand in paint?",
              ("Paint is accepted at the depot in Mill Street, free of charge. [@]",),
              ("Paint is accepted at the depot in Harbour Street, free of charge. [@]",
               "Paint is accepted at the depot in Mill Street for a fee of 9 dollars. [@]")),
    DraftCase(_TAX, "Combien coûte la taxe de séjour ?",
              ("La taxe de séjour est de 2,50 € par personne et par nuit. [@]",
               "Elle est de deux euros cinquante, soit 2,50 euros par personne et par nuit. [@]"),
              ("La taxe de séjour est de 3,50 € par personne et par nuit. [@]",
               "La taxe de séjour est de 2,50 dollars par personne et par nuit. [@]"), "fr"),
    DraftCase(_TAX, "Les enfants paient-ils la taxe de séjour ?",
              ("Non. Les enfants de moins de 18 ans ne paient pas la taxe. [@]",
               "Non, les moins de dix-huit ans ne paient pas la taxe. [@]"),
              ("Oui. Les enfants de moins de 18 ans paient la taxe. [@]",
               "Les enfants de moins de 18 ans paient la taxe. [@]"), "fr"),
    DraftCase(_TAX, "Peut-on payer la taxe de séjour en espèces ?",
              ("Non, les espèces ne sont pas acceptées. [@]",
               "Non. Le paiement se fait en ligne ou par chèque. [@]"),
              ("Oui, les espèces sont acceptées. [@]", "Les espèces sont acceptées pour le paiement. [@]"), "fr"),
    DraftCase(_TAX, "Quelle est la pénalité en cas de retard de déclaration ?",
              ("Un retard entraîne une pénalité de 10 pour cent. [@]",
               "En cas de retard, la pénalité est de dix pour cent. [@] Les documents ne précisent pas si elle est "
               "réductible."),
              ("Un retard entraîne une pénalité de 20 %. [@]", "Un retard n'entraîne pas de pénalité. [@]"), "fr"),
    DraftCase(_MEDIA, "Quels sont les horaires de la médiathèque ?",
              ("La médiathèque est ouverte du mardi au samedi, de 10:00 à 18:30. [@]",
               "Elle est ouverte de 10 h à 18h30, du mardi au samedi. [@]"),
              ("La médiathèque est ouverte du lundi au samedi, de 10 h à 18 h 30. [@]",
               "La médiathèque est ouverte du mardi au samedi, de 10 h à 20 h 30. [@]"), "fr"),
    DraftCase(_MEDIA, "Combien de livres peut-on emprunter ?",
              ("On peut emprunter 6 livres pendant 3 semaines. [@]", "Six livres, pendant 21 jours. [@]"),
              ("On peut emprunter 16 livres pendant 3 semaines. [@]", "On peut emprunter 6 livres pendant 3 mois. [@]"),
              "fr"),
    DraftCase(_FARE, "¿Cuánto cuesta el abono mensual?",
              ("El abono mensual cuesta 42 € y permite viajes ilimitados en metro y autobús. [@]",
               "Cuesta cuarenta y dos euros al mes. [@]"),
              ("El abono mensual cuesta 24 euros. [@]", "El abono mensual cuesta 42 dólares. [@]"), "es"),
    DraftCase(_FARE, "¿Es válido el abono en los trenes nocturnos?",
              ("No, el abono no es válido en los trenes nocturnos. [@]",),
              ("Sí, el abono es válido en los trenes nocturnos. [@]",
               "El abono es válido en los trenes nocturnos. [@]"),
              "es"),
    DraftCase(_CARD, "Was kostet der Personalausweis?",
              ("Der Personalausweis kostet 37,00 € und ist 10 Jahre gültig. [@]",
               "Er kostet siebenunddreißig Euro; für Personen unter 24 Jahren kostet er 22,80 Euro. [@]"),
              ("Der Personalausweis kostet 73 Euro. [@]", "Der Personalausweis ist 37 Jahre gültig. [@]"), "de"),
    DraftCase(_CARD, "Kann ich den Personalausweis online beantragen?",
              ("Nein, den Antrag stellen Sie persönlich im Bürgeramt; online ist das nicht möglich. [@]",
               "Nein. Online ist das nicht möglich. [@]"),
              ("Ja, online ist das möglich. [@]", "Online ist das möglich. [@]"), "de"),
)  # fmt: skip

CASES = tuple(case._replace(title=DOCUMENTS[case.document].splitlines()[0].removeprefix("# ")) for case in CASES)
