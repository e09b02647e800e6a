"""The words of every language by which private data is found (`private.yaml`). Pure."""

from __future__ import annotations

from pydantic import Field

from shared.language.packs import (
    PackFile,
    Patterns,
    Phrases,
    VerbosePatterns,
    Words,
    WordSet,
    phrase,
    read,
)


class PrivateWords(PackFile):
    """Words around private data.

    Names: `titles` (which may have a point), `title_words` and `title_initials` stand before a name, `local_titles`
    only in a text with any of `local_words`; `particles` are within names, and after a pattern of `declarations`,
    which always has a word of `declaring`, no word of `not_names` begins or continues a name, nor does an office.
    Addresses: forms of `streets`, in which `{big}` is a word with a capital letter and `{city}` what may follow a
    street, after words of `own_address`. Telephones: words before and after the number, `extensions`, and
    `other_numbers`, which label other numbers. E-mail: the signs in words, `sure_email_at` and
    `bare_email_dot` also without brackets. Identification numbers: labels, kinds of cards, words for number;
    `stated_ids` are whole labels, `ssn` the labels of a social security number. `versions` precede numbers that are not
    an IP address, `currencies` after amounts. Postal codes: words, and what may follow them, before them or a city.
    Passwords: `secrets` after words of `own`; a text without `secret_marks` is not searched. `numeric_secrets` have a
    digit, and neither a word of `not_secrets` nor a word with an ending of `participle_ends` is a password.
    """

    file = "private"
    titles: Words = ()
    title_words: Words = ()
    title_initials: Words = ()
    local_titles: Words = ()
    local_words: Patterns = ()
    particles: Words = ()
    declarations: Patterns = ()
    declaring: Phrases = ()
    not_names: WordSet = frozenset()
    offices: WordSet = frozenset()
    streets: VerbosePatterns = ()
    own_address: Patterns = ()
    phone_before: Patterns = ()
    phone_after: Words = ()
    extensions: Patterns = ()
    other_numbers: Patterns = ()
    currencies: Words = ()
    email_at: Words = ()
    sure_email_at: Words = ()
    email_dot: Words = ()
    bare_email_dot: Words = ()
    versions: Words = ()
    id_labels: Patterns = ()
    id_cards: Words = ()
    id_numbers: Patterns = ()
    stated_ids: Patterns = ()
    is_: Words = Field(default=(), alias="is")
    ssn: Patterns = ()
    postal_words: Words = ()
    postal_tail: Words = ()
    postal_codes: Patterns = ()
    postal_is: Words = ()
    before_cities: Words = ()
    not_cities: Patterns = ()
    own: Words = ()
    secret_is: Words = ()
    secrets: Patterns = ()
    secret_marks: Words = ()
    numeric_secrets: Words = ()
    not_secrets: WordSet = frozenset()
    participle_ends: Words = ()


WORDS = tuple(read(PrivateWords).values())
#: Currencies in words, which follow an amount.
CURRENCY = phrase([*(words.currencies for words in WORDS), ("cad", "usd", "eur", "gbp")])
_DASH = r"\-\u2010-\u2015"
#: The beginning of a number: not within a word, a longer reference (`A-123`, `12.5`) or an amount of money.
BEGIN = rf"(?<!\w)(?<!\d[.,])(?<!\w[/{_DASH}])(?<![$€£¥])(?<![$€£¥][ \d])(?<![$€£¥]\d[ \d])(?<![$€£¥]\d\d[ ])"


def end(following: str) -> str:
    """The end of a number: not before `following` after a dash, nor before a currency."""
    return rf"(?!\w)(?![/{_DASH}]{following})(?![.,]\d)(?![ ]?(?:[$€£¥%]|{CURRENCY}\b))"
