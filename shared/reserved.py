"""What the contract gives a stage to say or hear that it does not yet; the architecture tests keep it exact."""

from __future__ import annotations

#: (stage, verb) -> the facts.
RESERVED: dict[tuple[str, str], tuple[str, ...]] = {}
