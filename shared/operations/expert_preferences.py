"""What experts prefer who compared pairs of answers: preferences with intervals, and how far they agree. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from shared.contracts.requests.reviews import ExpertPreference, ReviewPreference, SideChoice
from shared.operations.confidence_sequence import LEAST, estimate

_VALUES: dict[SideChoice, float] = {"candidate": 1.0, "tie": 0.0, "bad": 0.0, "live": -1.0}


def by_expert(judged: Mapping[str, Mapping[str, SideChoice]]) -> list[ExpertPreference]:
    """The preference of each expert; `judged` has the choices by pair, then by expert."""
    found: dict[str, list[SideChoice]] = {}
    for choices in judged.values():
        for expert, choice in choices.items():
            found.setdefault(expert, []).append(choice)
    return [
        ExpertPreference(expert=expert, **_preference([(choice,) for choice in found[expert]]))
        for expert in sorted(found)
    ]


def together(judged: Iterable[Mapping[str, SideChoice]]) -> dict[str, Any]:
    """The fields of a `ReviewPreference` over the pairs, each counted once: experts of one pair are not independent."""
    return _preference([tuple(choices.values()) for choices in judged if choices])


def agreement(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for categories: 1 is full agreement, 0 what chance gives; None where nobody could differ.

    `units` are what all who judged one thing said of it; those that only one judged are not counted. From the matrix of
    coincidences (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011).
    """
    observed, totals = 0.0, Counter[Hashable]()
    for unit in units:
        if len(unit) < 2:
            continue
        counts = Counter(unit)
        totals.update(counts)
        differing = len(unit) ** 2 - sum(count**2 for count in counts.values())
        observed += differing / (len(unit) - 1)
    count = totals.total()
    expected = count**2 - sum(one**2 for one in totals.values())
    return 1 - (count - 1) * observed / expected if expected else None


def _preference(pairs: Sequence[tuple[SideChoice, ...]]) -> dict[str, Any]:
    """By pairs: each has the mean of what was said of it, and belongs to where that leans."""
    means = [sum(_VALUES[choice] for choice in said) / len(said) for said in pairs]
    even = [said for said, mean in zip(pairs, means, strict=True) if mean == 0]
    bad = sum(said.count("bad") * 2 > len(said) for said in even)
    found = estimate(means)
    bounded = found.count >= LEAST
    fields = {
        "pairs": len(means),
        "candidate": sum(mean > 0 for mean in means),
        "tie": len(even) - bad,
        "bad": bad,
        "live": sum(mean < 0 for mean in means),
        "preference": round(found.mean, 4),
        "low": round(found.low, 4) if bounded else None,
        "high": round(found.high, 4) if bounded else None,
        "says": "better" if found.above else "worse" if found.below else "open",
    }
    return ReviewPreference.model_validate(fields).model_dump()
