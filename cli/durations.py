"""Spans of time as the command line takes them."""

from __future__ import annotations

import re

from cli.output import fail

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(text: str) -> float:
    """`90s`, `10m`, `2h` or `7d` in seconds; anything else ends the command with a line that says so."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhd])", text.strip())
    if found is None:
        fail(f"{text!r} is no span of time; write 90s, 10m, 2h or 7d", 2)
    return float(found[1]) * _SECONDS[found[2]]
