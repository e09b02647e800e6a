"""The last part of the suite of drafts: written after the rules, over other texts.

When it was first run, the rules refuted 1 of its 31 good drafts and passed 7 of its 34 bad ones. That is how they do on
texts that nobody has looked at; since then their classes of errors have been mended, and the test keeps them so.
"""

from __future__ import annotations

from tests.support.draft_cases import DraftCase

DOCUMENTS: dict[str, str] = {
    "museum.md": """# Harbour museum

Admission is 11 dollars for adults; visitors under 12 enter free of charge. Photography is permitted without flash.
Guided
tours start at 11:00 and 14:30 and last about 45 minutes. Groups of more than 15 people must register a week in advance.
Backpacks may not be taken into the exhibition. The museum shop accepts cards but no cheques.
""",
    "backup.md": """# Backups

Snapshots are taken every six hours and kept for 30 days. They are written to S3 and encrypted with AES-256. A restore
takes up to 20 minutes and replaces the current data. Restores can only be started by an administrator. Snapshots are
not
taken while a migration runs. The setting `snapshot_retention` changes how long they are kept; `0` disables snapshots.
""",
    "visa.md": """# Working holiday visa

Applicants must be between 18 and 30 years old. The fee of 495 dollars is not refunded if the application is refused.
The
visa is valid for 12 months from the date of entry. Applications are processed in about five weeks. Dependent children
cannot be included. Holders may study for up to four months.
""",
    "velo.md": """# Vélos en libre-service

Les trente premières minutes sont gratuites; ensuite, chaque demi-heure coûte 1 euro. Le casque n'est pas fourni. Le
service
est fermé entre 2 h et 5 h. Les mineurs de moins de 14 ans ne peuvent pas louer de vélo. Une caution de 150 euros est
demandée.
""",
}

LANGUAGES = {"velo.md": "fra"}
_MUSEUM, _BACKUP, _VISA, _BIKE = tuple(DOCUMENTS)

_CASES: tuple[DraftCase, ...] = (
    DraftCase(_MUSEUM, "How much is the admission for adults?",
              ("Adults pay $11. [@]", "Admission for adults is eleven dollars. [@]"),
              ("Adults pay 12 dollars. [@]", "Admission is free for adults. [@]")),
    DraftCase(_MUSEUM, "May I take photos?",
              ("Yes, photography is permitted, but without flash. [@]",
               "Yes. You can take photos as long as you do not use "
               "flash: photography without flash is permitted. [@]"),
              ("No, photography is not permitted. [@]", "Photography is forbidden. [@]")),
    DraftCase(_MUSEUM, "When do the guided tours start?",
              ("Guided tours start at 11 am and 2:30 pm. [@]",
               "At 11:00 and at 14:30; a tour lasts about 45 minutes. [@]"),
              ("Guided tours start at 10 am. [@]", "Guided tours last about 45 hours. [@]")),
    DraftCase(_MUSEUM, "Can I take my backpack into the exhibition?",
              ("No, backpacks may not be taken into the exhibition. [@]", "No. You cannot take a backpack into the "
               "exhibition. [@]"),
              ("Yes, backpacks may be taken into the exhibition. [@]",
               "Backpacks may be taken into the exhibition. [@]")),
    DraftCase(_MUSEUM, "Does the shop accept cheques?",
              ("No. The shop accepts cards but no cheques. [@]", "No, only cards are accepted in the museum shop. [@]"),
              ("Yes. The shop accepts cheques. [@]", "The museum shop accepts cheques but no cards. [@]")),
    DraftCase(_BACKUP, "How often are snapshots taken?",
              ("Snapshots are taken every 6 hours. [@]",
               "A snapshot is taken every six hours, but not while a migration "
               "runs. [@]"),
              ("Snapshots are taken every 16 hours. [@]", "Snapshots are taken every six days. [@]")),
    DraftCase(_BACKUP, "How are snapshots encrypted?",
              ("They are encrypted with AES-256. [@]", "Snapshots are written to S3 with AES-256 encryption. [@]"),
              ("They are encrypted with AES-128. [@]", "Snapshots are not encrypted. [@]")),
    DraftCase(_BACKUP, "Who can start a restore?",
              ("Only an administrator can start a restore. [@]", "Restores can be started by administrators only. [@]"),
              ("Restores can be started by Alice from Accounting. [@]",
               "Restores cannot be started by an administrator. "
               "[@]")),
    DraftCase(_BACKUP, "How do I disable snapshots?",
              ("Set `snapshot_retention` to `0`. [@]", "Setting `snapshot_retention` to 0 disables snapshots. [@]"),
              ("Set `snapshot_interval` to `0`. [@]", "Setting `snapshot_retention` to 0 enables snapshots. [@]")),
    DraftCase(_BACKUP, "How long does a restore take?",
              ("A restore takes 20 minutes at most. [@]",
               "Up to twenty minutes, and it replaces the current data. [@]"),
              ("A restore takes at least 20 minutes. [@]", "A restore takes up to 20 seconds. [@]")),
    DraftCase(_VISA, "How old must applicants be?",
              ("Applicants must be 18 to 30 years old. [@]", "Between eighteen and thirty years. [@]"),
              ("Applicants must be between 18 and 35 years old. [@]", "Applicants must be at least 30 years old. [@]")),
    DraftCase(_VISA, "Is the fee refunded when the application is refused?",
              ("No. The fee is not refunded if the application is refused. [@]",
               "No, you do not get the 495 dollars back: "
               "the fee is not refunded. [@]"),
              ("Yes. The fee is refunded if the application is refused. [@]",
               "The fee of 495 dollars is refunded. [@]")),
    DraftCase(_VISA, "How long is the visa valid?",
              ("It is valid for one year from the date of entry. [@]",
               "The visa is valid for 12 months after entry. [@] The "
               "passages do not say whether it can be extended."),
              ("The visa is valid for 12 weeks. [@]", "The visa is valid for four months. [@]")),
    DraftCase(_VISA, "Can my children come with me?",
              ("No, dependent children cannot be included. [@]",),
              ("Yes, dependent children can be included. [@]", "Dependent children can be included. [@]")),
    DraftCase(_BIKE, "Combien coûte la location d'un vélo ?",
              ("Les trente premières minutes sont gratuites, puis chaque demi-heure coûte 1 €. [@]",
               "Les 30 premières minutes sont gratuites. [@] Ensuite, il faut payer 1 euro par demi-heure. [@]"),
              ("Les trente premières minutes coûtent 5 euros. [@]",
               "Ensuite, chaque demi-heure coûte 2 euros. [@]"), "fr"),
    DraftCase(_BIKE, "Le casque est-il fourni ?",
              ("Non, le casque n'est pas fourni. [@]",), ("Oui, le casque est fourni. [@]",
               "Le casque est fourni. [@]"), "fr"),
    DraftCase(_BIKE, "Quelle est la caution demandée ?",
              ("Une caution de 150 € est demandée. [@]",),
              ("Une caution de 250 euros est demandée. [@]", "Aucune caution n'est demandée. [@]"), "fr"),
)  # fmt: skip
CASES = tuple(case._replace(title=DOCUMENTS[case.document].splitlines()[0].removeprefix("# ")) for case in _CASES)
