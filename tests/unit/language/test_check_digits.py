"""Numbers with valid check digits are masked however they are written; invalid ones are left alone."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

from services.moderation.checks.private_data import private_data
from services.moderation.checks.verdict import CheckInput
from services.moderation.settings import ModerationSettings
from shared.language.rules.private_data import numbers
from tests.support.table import table

SETTINGS = ModerationSettings()
EACH = 50
SEPARATORS = ("", " ", "-", ".")
Make = Callable[[random.Random], str]


def digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choice(string.digits) for _ in range(count))


def letters(chance: random.Random, count: int) -> str:
    return "".join(chance.choice(string.ascii_uppercase) for _ in range(count))


def iban(chance: random.Random) -> str:
    account = digits(chance, 18)
    rest = 98 - int("".join(str(int(one, 36)) for one in f"{account}DE00")) % 97
    return f"DE{rest:02d}{account}"


def nir_body(chance: random.Random) -> str:
    born = f"{digits(chance, 2)}{chance.randint(1, 12):02d}"
    return f"{chance.choice('12')}{born}{chance.randint(1, 95):02d}{digits(chance, 6)}"


def nir(chance: random.Random) -> str:
    body = nir_body(chance)
    return f"{body}{97 - int(body) % 97:02d}"


def codice(chance: random.Random) -> str:
    return (
        f"{letters(chance, 6)}{digits(chance, 2)}{chance.choice('ABCDEHLMPRST')}"
        f"{chance.randint(1, 71):02d}{letters(chance, 1)}{digits(chance, 3)}{letters(chance, 1)}"
    )


#: What is written, a number of the right form, the sizes of its groups, and the test of its check digits.
KINDS: dict[str, tuple[str, Make, tuple[int, ...], Callable[[str], bool]]] = {
    "sin": ("social insurance number", lambda c: digits(c, 9), (3, 3, 3), numbers.is_sin),
    "card": ("card", lambda c: f"4{digits(c, 15)}", (4, 4, 4, 4), numbers.is_card),
    "iban": ("IBAN", lambda c: f"DE{digits(c, 20)}", (4, 4, 4, 4, 4, 2), numbers.is_iban),
    "nir": ("numéro de sécurité sociale", lambda c: nir_body(c) + digits(c, 2), (1, 2, 2, 2, 3, 3, 2), numbers.is_nir),
    "nhs": ("NHS number", lambda c: f"4{digits(c, 9)}", (3, 3, 4), numbers.is_nhs),
    "tax_id": ("Steuernummer", lambda c: f"{c.randint(1, 9)}{digits(c, 10)}", (2, 3, 3, 3), numbers.is_german_tax_id),
    "dni": ("DNI", lambda c: digits(c, 8) + letters(c, 1), (8, 1), numbers.is_dni),
    "codice_fiscale": ("codice fiscale", codice, (3, 3, 5, 5), numbers.is_codice_fiscale),
    "cpf": ("CPF", lambda c: digits(c, 11), (3, 3, 3, 2), numbers.is_cpf),
    "cnpj": ("CNPJ", lambda c: f"{digits(c, 8)}0001{digits(c, 2)}", (2, 3, 3, 4, 2), numbers.is_cnpj),
}
#: Forms whose check digits are too rare to wait for.
VALID: dict[str, Make] = {"iban": iban, "nir": nir}


def grouped(number: str, sizes: tuple[int, ...], separator: str) -> str:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(number[start : start + size])
        start += size
    return separator.join(pieces)


def made(kind: str, chance: random.Random, *, valid: bool) -> str:
    """A number that has, or has not, the check digits of its kind; an invalid one has those of no other kind either."""
    _, make, _, test = KINDS[kind]
    if valid and kind in VALID:
        return VALID[kind](chance)
    others = [] if valid else [one[3] for name, one in KINDS.items() if name not in (kind, "dni", "codice_fiscale")]
    while True:
        number = make(chance)
        if test(number) == valid and not any(other(number) for other in others):
            return number


@table("separator", SEPARATORS)
@table("kind", KINDS)
def test_a_number_with_valid_check_digits_is_masked_however_it_is_written(kind: str, separator: str) -> None:
    chance = random.Random(f"{kind}{separator}")
    label, _, sizes, _ = KINDS[kind]
    for _ in range(EACH):
        number = grouped(made(kind, chance, valid=True), sizes, separator)
        for text in (f"My {label} is {number}, is that right?", f"Look at {number} please"):
            assert number not in (private_data(CheckInput(text), SETTINGS).text or text), text
            masked = private_data(CheckInput(text), SETTINGS).text or text
            assert not any(map(str.isdecimal, masked)), text


@table("separator", ["", "-"])
@table("kind", KINDS)
def test_a_number_with_wrong_check_digits_passes(kind: str, separator: str) -> None:
    chance = random.Random(f"wrong {kind}{separator}")
    label, _, sizes, _ = KINDS[kind]
    for _ in range(EACH):
        number = grouped(made(kind, chance, valid=False), sizes, separator)
        text = f"My {label} is {number}, is that right?"
        found = {one.kind for one in private_data(CheckInput(text), SETTINGS).findings}
        assert not found, text


@table(
    ("text", "left"),
    [
        ("RAMQ TREM 8502 1234", "RAMQ XXX"),
        ("my NINO is AB 12 34 56 C.", "my NINO is XXX."),
        ("SSN 536228726 is mine", "SSN XXX is mine"),
        ("my NIE is X-1234567-L", "my NIE is XXX"),
        ("2 69 05 49 588 157 80", "XXX"),
        ("DE89 3704 0044 0532 0130 00 please help", "XXX please help"),
        ("write to zoe\uff20host please", "write to XXX please"),
        ("zoe (at) example.org", "XXX"),
        ("zoe [at] example [dot] org", "XXX"),
        ("zoe at example dot org", "XXX"),
        ("J'habite au 12 bis, rue de la République, 75001 Paris", "J'habite au XXX"),
        ("I live at 221 Baker Street, Springfield, IL 62704", "I live at XXX"),
        ("Mon adresse est 4 chemin des Lilas, 69003 Lyon", "Mon adresse est XXX"),
        ("j'habite à 75001 Paris", "j'habite à XXX Paris"),
        ("Me Durand est mon avocat", "Me XXX est mon avocat"),
    ],
)
def test_private_data_of_other_forms_is_masked(text: str, left: str) -> None:
    assert private_data(CheckInput(text), SETTINGS).text == left


@table(
    "text",
    [
        "Doctor I have a rash, what now?",
        "Is Me Before You a good book?",
        "The drug code is 0777-3105-02, is it covered?",
        "Is DIN 02245623 covered?",
        "Is the office at 90 Elgin Street open?",
        "Where is the museum, 12 rue de la République?",
        "Il y a 20000 habitants",
        "My PIN is unlocked, what do I do?",
        "My password isn't working",
        "My PIN was entered wrong and now I am blocked.",
        "meet me at noon",
        "ISBN 0306406152",
        "My order number is 123 456 789",
    ],
)
def test_what_only_looks_like_private_data_is_left_alone(text: str) -> None:
    assert private_data(CheckInput(text), SETTINGS).text is None
