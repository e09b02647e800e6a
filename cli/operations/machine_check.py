"""What `answerbus doctor` says of one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCheck:
    """`verdict`: ok, warn (works with restrictions) or fail (does not work)."""

    check: str
    verdict: str
    detail: str
