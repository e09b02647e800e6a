"""Tunes the garbage collector of a long-lived process."""

from __future__ import annotations

import gc

#: New objects before a collection of generation 0. A question creates thousands, nearly all freed when it ends.
_YOUNG = 10_000


def freeze_startup_objects() -> None:
    """Exclude all present objects from later collections (`gc.freeze`); call it once the process has started.

    Modules, classes and settings are some hundred thousand objects that are never freed: a full collection that visits
    them stops all threads for a tenth of a second, every few hundred questions.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
