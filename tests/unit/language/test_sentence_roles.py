"""What a sentence of an answer does."""

from __future__ import annotations

from shared.language.sentence_roles import Role, read_sentence
from tests.support.table import table


@table(
    ("text", "role"),
    [
        ("Here is what you need:", Role.LEAD_IN),
        ("Voici les étapes à suivre :", Role.LEAD_IN),
        ("I hope this helps!", Role.LEAD_IN),
        ("Yes.", Role.YES),
        ("Oui, c'est gratuit.", Role.YES),
        ("No: it is closed.", Role.NO),
        ("Nein, online ist das nicht möglich.", Role.NO),
        ("The passages do not say whether seniors pay.", Role.ABSENCE),
        ("There is no information about parking in the documents.", Role.ABSENCE),
        ("The price is not mentioned in the passages.", Role.ABSENCE),
        ("Les documents ne précisent pas le prix.", Role.ABSENCE),
        ("Los documentos no mencionan el precio.", Role.ABSENCE),
        ("Die Dokumente nennen keinen Preis.", Role.ABSENCE),
        ("For more information, contact the office.", Role.REFERRAL),
        ("Pour plus d'informations, consultez la page.", Role.REFERRAL),
        ("Weitere Informationen finden Sie auf der Seite.", Role.REFERRAL),
        ("A permit costs 120 dollars.", Role.CLAIM),
        ("No permit is needed.", Role.CLAIM),
        ("The office is not open on Sundays.", Role.CLAIM),
    ],
)
def test_roles_are_known_by_their_forms(text: str, role: Role) -> None:
    assert read_sentence(text).role is role


def test_a_lead_in_before_a_statement_is_left_out() -> None:
    assert read_sentence("Here is what you need: a photo.").rest == "a photo."
    assert read_sentence("Parking permits: 120 dollars.").rest == "Parking permits: 120 dollars."
