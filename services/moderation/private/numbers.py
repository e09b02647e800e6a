"""Validation of numbers by their check digits and ranges: cards, accounts, identification numbers. Pure."""

from __future__ import annotations

import ipaddress
import re


def digits(text: str) -> str:
    return "".join(filter(str.isdecimal, text))


def luhn(number: str) -> bool:
    """ISO/IEC 7812: cards and Canadian social insurance numbers."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0 and number.strip("0") != ""


#: The first digits of card numbers by issuer.
_ISSUERS = re.compile(r"4|5[0-8]|2[2-7]|3[0-9]|6|1800|2131|2014|2149")


def is_card(text: str) -> bool:
    number = digits(text)
    return 12 <= len(number) <= 19 and bool(_ISSUERS.match(number)) and luhn(number)


def is_iban(text: str) -> bool:
    """ISO 13616: letters count from 10, the remainder by 97 is 1."""
    account = re.sub(r"[^0-9A-Za-z]", "", text).upper()
    if not 15 <= len(account) <= 34:
        return False
    return int("".join(str(int(letter, 36)) for letter in account[4:] + account[:4])) % 97 == 1


def is_ssn(text: str) -> bool:
    """United States: no area 000 or 666, no group 00, no serial 0000 (9xx are the tax office's, and private too)."""
    number = digits(text)
    return number[:3] not in ("000", "666") and number[3:5] != "00" and number[5:] != "0000"


def is_sin(text: str) -> bool:
    """Canada: the first digit names a province, the last is a check digit."""
    number = digits(text)
    return len(number) == 9 and number[0] not in "08" and luhn(number)


def is_cpf(text: str) -> bool:
    """Brazil: two check digits by 11."""
    number = digits(text)
    if len(number) != 11 or len(set(number)) == 1:
        return False
    for length in (9, 10):
        rest = sum(int(digit) * weight for digit, weight in zip(number, range(length + 1, 1, -1), strict=False)) % 11
        if int(number[length]) != (0 if rest < 2 else 11 - rest):
            return False
    return True


def is_ip(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text.partition("/")[0]).is_unspecified
    except ValueError:
        return False
