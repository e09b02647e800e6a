"""How a step's system prompt is assembled, and the revision that identifies its wording.

The order is fixed: the pipeline's prompt, the project's introduction, the rules that code relies on. Nothing in it
depends on the question, so that every call of a step begins with the same text, which providers cache and charge less
for.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.prompts import ChatPromptTemplate


def assemble(prompt: str, introduction: str, rules: str) -> str:
    """The system prompt of a step: the task, the project, the output format; empty parts are left out."""
    return "\n\n".join(part.strip() for part in (prompt, introduction, rules) if part.strip())


@lru_cache(maxsize=256)
def revision(prompt: str) -> str:
    """The first eight hex digits of the prompt's SHA-256; empty for an empty prompt.

    >>> revision("Answer from the passages.")
    'd0fc476a'
    """
    return hashlib.sha256(prompt.encode()).hexdigest()[:8] if prompt else ""


@lru_cache(maxsize=256)
def step_prompt(system: str) -> ChatPromptTemplate:
    """The prompt of a single step: its system text as it is, and the variable `data`, which are blocks of data.

    >>> step_prompt("Judge {it}.").invoke({"data": "<question>?</question>"}).to_messages()[0].content
    'Judge {it}.'
    """
    from langchain_core.messages import SystemMessage
    from langchain_core.prompts import ChatPromptTemplate

    return ChatPromptTemplate.from_messages([SystemMessage(system), ("human", "{data}")])
