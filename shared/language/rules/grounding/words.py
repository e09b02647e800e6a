"""The words of every language by which a sentence is compared with its passages (`grounding.yaml`). Pure."""

from __future__ import annotations

from shared.language.packs import PackFile, Patterns, Words, read


class GroundingWords(PackFile):
    """Words without accents and in lower case.

    `conditions` limit what a sentence says, and `denials_at_end` deny what follows. `free` says that nothing is paid;
    `price_words` carry no other meaning. `clauses` begin a clause; names between `listing` words have no order.
    """

    file = "grounding"
    conditions: Words = ()
    denials_at_end: Words = ()
    free: Patterns = ()
    price_words: Words = ()
    clauses: Words = ()
    listing: Words = ()


WORDS = tuple(read(GroundingWords).values())
