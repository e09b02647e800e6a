"""How seldom a long-lived process needs to look for garbage."""

from __future__ import annotations

import gc

#: New objects before the young ones are looked through. A question makes thousands, and nearly all are gone with it.
_YOUNG = 10_000


def spare_what_stays() -> None:
    """Leave out of every later garbage collection what this process holds now; call it once it has started.

    Modules, classes and settings are some hundred thousand objects that stay until the end: looking through them stops
    all threads for a tenth of a second, every few hundred questions.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
