"""What every fact is: its place in the flow as class variables, its content as fields."""

from __future__ import annotations

import re
from typing import ClassVar

from shared.domain import Value

Stages = tuple[str, ...]


class Fact(Value):
    """Something that happened, immutable and durable on the bus."""

    said_by: ClassVar[Stages] = ()
    heard_by: ClassVar[Stages] = ()
    terminal: ClassVar[bool] = False
    #: The hearer's work is a new attempt (n + 1) rather than a continuation of this one.
    opens_attempt: ClassVar[bool] = False
    #: About a finished question or a document rather than a step of a question; not subject to its deadline.
    aside: ClassVar[bool] = False

    @classmethod
    def words(cls) -> tuple[str, str]:
        """Noun and participle, lower-case: `PassagesRetrieved` -> `("passages", "retrieved")`."""
        noun, participle = re.findall(r"[A-Z][a-z]+", cls.__name__)
        return noun.lower(), participle.lower()
