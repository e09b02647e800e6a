"""Asking for one JSON object and reading it out of what came."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from shared.llm.ports import M, Message

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
#: How much of a reply that did not fit is shown to its author again.
_SHOWN = 2000


class UnreadableError(Exception):
    """The reply does not fit; the text says where, for its author."""


@lru_cache(maxsize=256)
def schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply."""
    return kind.model_json_schema()


@lru_cache(maxsize=256)
def form_of(kind: type[BaseModel]) -> str:
    """The rule of form that ends the system text; the same for every call of a step."""
    schema = json.dumps(schema_of(kind), ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"


def read(text: str, kind: type[M], *, cut: bool = False) -> M:
    """The object in the text: the text itself, a fenced block in it, or what stands between its outermost braces.

    Raises:
        UnreadableError: there is none that fits.
    """
    if not text.strip():
        raise UnreadableError("it was empty")
    wrong = ""
    for candidate in _candidates(text):
        try:
            return kind.model_validate_json(candidate)
        except ValidationError as error:
            wrong = wrong or _told(error)
    if cut:
        raise UnreadableError("it was too long and was cut off")
    raise UnreadableError(wrong or "it holds no JSON object")


def repair(messages: list[Message], text: str, wrong: str) -> list[Message]:
    """The conversation that asks for the reply once more, with what was wrong with it."""
    request = f"That reply cannot be used: {wrong}. Reply again, with the JSON object only."
    said = Message(author="assistant", text=text[:_SHOWN] or "(nothing)")
    return [*messages, said, Message(author="user", text=request)]


def _candidates(text: str) -> list[str]:
    stripped = text.strip()
    found = [stripped] if stripped.startswith("{") else []
    found += [block.strip() for block in _FENCE.findall(text)[:3]]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        found.append(text[first : last + 1])
    return list(dict.fromkeys(found))


def _told(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False, include_context=False)[:5]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}" for one in first)
