"""How a step's prompt is put together, and the short name of its wording.

The order is fixed: the pipeline's prompt, the project's introduction, the rules that code relies on. Nothing of one
question is among them, so that every call of a step begins with the same text: providers keep the work on a prefix
they have seen, and charge less for it.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache


def assemble(prompt: str, introduction: str, rules: str) -> str:
    """The system text of a step: what to do, for which project, in which form; empty parts are left out."""
    return "\n\n".join(part.strip() for part in (prompt, introduction, rules) if part.strip())


@lru_cache(maxsize=256)
def revision(prompt: str) -> str:
    """Eight hex digits that name this wording (the head of its SHA-256); empty for no prompt.

    >>> revision("Answer from the passages.")
    'd0fc476a'
    """
    return hashlib.sha256(prompt.encode()).hexdigest()[:8] if prompt else ""
