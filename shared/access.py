"""What a stage does on the bus beside hearing and saying facts; its user is permitted this and no more."""

from __future__ import annotations

from dataclasses import dataclass

from shared.signals import Signal


@dataclass(frozen=True)
class Access:
    """Declared once, where the stage is wired: `Stage("verifier", access=Access(keeps=(URLS_BUCKET,)))`.

    `reads` and `keeps` name buckets of the key-value store (one that is kept is read too), `objects` stores of bodies.
    `asks` are `<stage>.<verb>`, `follows` live subjects (see `shared.subjects.live`). `log` is the history of any
    question, `stages` the figures of all stages, `dead` all dead letters.
    """

    reads: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    signals: tuple[type[Signal], ...] = ()
    follows: tuple[str, ...] = ()
    log: bool = False
    stages: bool = False
    erases: bool = False
    dead: bool = False
