"""Splits of live questions, which the platform runs: how the command line writes their weights. Pure."""

from __future__ import annotations

from shared.contracts.errors import RefusedError


def weights_of(text: str) -> dict[str, float]:
    """The weights by pipeline of `default=90,candidate=10`.

    Raises:
        RefusedError: it is not written so.
    """
    found: dict[str, float] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, _, weight = part.partition("=")
        try:
            found[name.strip()] = float(weight)
        except ValueError:
            raise RefusedError(f"--weights {part[:60]}: write NAME=WEIGHT, such as default=90,candidate=10") from None
    if len(found) < 2:
        raise RefusedError("--weights: name the live pipeline and a candidate, such as default=90,candidate=10")
    return found
