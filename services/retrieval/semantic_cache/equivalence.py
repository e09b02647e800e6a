"""Whether one question asks the same as another: by rule, with reasons. Pure.

Nearness of vectors alone takes a question and its opposite for the same; so whatever turns a question (a number, a
name, a negation, another question word, `before` for `after`, changed roles) tells the two apart, however near they
are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from services.retrieval.semantic_cache.grammar import Grammar
from services.retrieval.semantic_cache.question_features import Reading, stem
from shared.text.analysis import stems

#: Asking for one of these is not asking for another.
_APART = frozenset(
    (
        "who",
        "whom",
        "whose",
        "where",
        "when",
        "why",
        "how",
        "measure",
        "duration",
        "frequency",
        "distance",
        "age",
        "outcome",
    )
)
#: Of these, `whether` asks something else too: why it is so takes for granted that it is.
_TOLD_APART = _APART - {"how"}
#: Words of at least so many letters may differ in one: a slip of the pen.
_SLIP = 6

#: So many words more make a question narrower; more than these tell a story.
_MORE = 2
#: What two words share before their endings.
_ROOT = 5


@dataclass(frozen=True)
class Comparison:
    """`differences` say what tells the questions apart; none: nothing does. `uncovered` are words of meaning of either
    that the other has no counterpart for, `cover` the share of them all that has one."""

    differences: tuple[str, ...]
    uncovered: tuple[str, ...]
    cover: float
    #: One says all that the other says, and a word or two more: it may ask for less.
    narrows: bool = False


def compare(one: Reading, other: Reading) -> Comparison:
    """What the two have in common and what not; both in the same language."""
    differences = tuple(reason for check in _CHECKS if (reason := check(one, other)))
    mine, theirs = uncovered(one, other), uncovered(other, one)
    total = len(one.content) + len(other.content)
    cover = 1 - (len(mine) + len(theirs)) / total if total else 0.0
    narrows = min(len(mine), len(theirs)) == 0 and 1 <= len(mine) + len(theirs) <= _MORE
    return Comparison(differences, (*mine, *theirs), cover, narrows)


def uncovered(one: Reading, other: Reading) -> tuple[str, ...]:
    """The words of meaning of the one that have no counterpart in the other."""
    return tuple(word for found, word in one.content.items() if not _covered(found, word, other))


def _covered(found: str, word: str, other: Reading) -> bool:
    if found in other.content:
        return True
    groups = _alike(other.language, other.grammar.alike).get(found, frozenset())
    return bool(groups & other.content.keys()) or any(
        _same_word(word, theirs) or _same_root(word, theirs, other.grammar.endings) for theirs in other.content.values()
    )


def _same_word(one: str, other: str) -> bool:
    """Whether they are the same but for a slip in writing, or for digits at the end (covid, covid19)."""
    if one.rstrip("0123456789") == other.rstrip("0123456789") and (one.isalpha() or other.isalpha()):
        return len(one.rstrip("0123456789")) >= 4
    if min(len(one), len(other)) < _SLIP or not (one.isalpha() and other.isalpha()):
        return False
    return _one_slip(one, other)


def _same_root(one: str, other: str, endings: Collection[str]) -> bool:
    """Whether they differ in their endings only (verify, verification), and these do not say who or how many."""
    differing = (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    shared = next(differing, min(len(one), len(other)))
    return shared >= _ROOT and {one[shared:], other[shared:]} <= {"", *endings}


def _one_slip(one: str, other: str) -> bool:
    """One letter more, less or other, or two that changed places."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1 or one[0] != other[0]:
        return False
    at = next((place for place, letter in enumerate(one) if letter != other[place]), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[:at] + one[at + 1 : at + 2] + one[at : at + 1] + one[at + 2 :]
    return one[at + 1 :] == other[at + 1 :] or swapped == other


@cache
def _alike(language: str, groups: tuple[tuple[str, ...], ...]) -> Mapping[str, frozenset[str]]:
    """Stem -> the stems that say the same."""
    known: dict[str, frozenset[str]] = {}
    for group in groups:
        found = frozenset(one for word in group for one in stems(word, language))
        for one in found:
            known[one] = known.get(one, frozenset()) | found
    return known


# --- what tells two questions apart ---


def _by_kind(one: Reading, other: Reading) -> str:
    mine, theirs = one.kinds, other.kinds
    if not mine or not theirs or mine & theirs:
        return ""
    # What is the origin, where does it come from: `what` may ask for anything.
    apart = mine & _APART and theirs & _APART
    whether = ("whether" in mine and theirs & _TOLD_APART) or ("whether" in theirs and mine & _TOLD_APART)
    return f"asks {_told(mine)}, not {_told(theirs)}" if apart or whether else ""


def _by_count(one: Reading, other: Reading) -> str:
    several = max(one.asked, other.asked)
    return f"one asks {several} things" if several > max(1, min(one.asked, other.asked)) else ""


def _by_number(one: Reading, other: Reading) -> str:
    differing = one.numbers ^ other.numbers
    return f"numbers differ: {_told(differing)}" if differing else ""


def _by_negation(one: Reading, other: Reading) -> str:
    if one.negated != other.negated:
        return "one is negated"
    mine, theirs = uncovered(one, other), uncovered(other, one)
    turned = [f"{word} is not {known}" for word in mine for known in theirs if _turned(word, known, one.grammar)]
    return turned[0] if turned else ""


def _turned(one: str, other: str, grammar: Grammar) -> bool:
    """Legal, illegal."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and longer.removesuffix(shorter) in grammar.turning


def _by_modality(one: Reading, other: Reading) -> str:
    asked = "whether" in one.kinds & other.kinds
    if asked and one.obliges != other.obliges and one.allows not in (other.allows, one.obliges):
        return "one asks what must be, one what may be"
    return ""


def _by_side(one: Reading, other: Reading) -> str:
    for number, mine in one.sides.items():
        theirs = other.sides.get(number)
        if theirs and not mine & theirs:
            members = one.grammar.exclusive[number]
            return f"{members[min(mine)].split()[0]} is not {members[min(theirs)].split()[0]}"
    return ""


def _by_name(one: Reading, other: Reading) -> str:
    """A name on either side that the other has not, not even by its first letters."""
    for mine, theirs in ((one, other), (other, one)):
        missing = sorted(name for name in mine.names if not _named(name, theirs))
        if missing and (theirs.names or mine.names):
            spelled = [name for name in missing if not _spelled_out(mine, theirs)]
            if spelled:
                return f"only one names {_told(spelled)}"
    return ""


def _named(name: str, other: Reading) -> bool:
    if name in other.words or _covered(stem(name, other.language) or name, name, other):
        return True
    initials = "".join(word[0] for word in other.words)
    return 2 <= len(name) <= 5 and name.isalpha() and name in initials


def _spelled_out(one: Reading, other: Reading) -> bool:
    """Whether an abbreviation in the other spells the names of this one."""
    initials = "".join(word[0] for word in one.words if word in one.names)
    return len(initials) >= 2 and any(name in initials for name in other.names if 2 <= len(name) <= 5)


def _by_role(one: Reading, other: Reading) -> str:
    """To Paris is not from Paris; who sues whom matters."""
    for preposition, mine in one.roles.items():
        for another, theirs in other.roles.items():
            turned = mine & theirs - other.roles.get(preposition, frozenset()) - one.roles.get(another, frozenset())
            if turned and another in one.grammar.directions.get(preposition, ()):
                return f"{preposition} is not {another}"
    if one.passive != other.passive or uncovered(one, other) or uncovered(other, one) or one.subject == other.subject:
        return ""
    subjects = (one.subject, other.subject)
    both = one.content.keys() & other.content.keys()
    acting = [subject for subject in subjects if subject in both]
    named = all(subject in both or subject in one.grammar.pronouns for subject in subjects)
    return "the roles change places" if acting and named else ""


def _by_contrast(one: Reading, other: Reading) -> str:
    """All is the same but for one word in the place of another: visa for students, visa for tourists."""
    mine, theirs = uncovered(one, other), uncovered(other, one)
    kept = min(len(one.content) - len(mine), len(other.content) - len(theirs))
    if len(mine) == len(theirs) == 1 and kept >= 1:
        return f"{mine[0]} is not {theirs[0]}"
    return ""


_CHECKS = (_by_count, _by_number, _by_name, _by_negation, _by_kind, _by_modality, _by_side, _by_role, _by_contrast)


def _told(words: Collection[str]) -> str:
    return ", ".join(sorted(words))
