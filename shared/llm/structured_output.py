"""Requesting one JSON object from a model and parsing its reply."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from shared.llm.ports import M, Message

_FENCE = re.compile(r"```(?:json)?[^\S\n]*+\n(.*?)```", re.DOTALL | re.IGNORECASE)
#: Characters of an invalid reply that the request for a repair quotes.
_QUOTED_CHARS = 2000


class InvalidReplyError(Exception):
    """The reply does not fit the schema; the text is written for the model that is asked to repair it."""


@lru_cache(maxsize=256)
def json_schema(response_model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply model, cached."""
    return response_model.model_json_schema()


@lru_cache(maxsize=256)
def format_instructions(response_model: type[BaseModel]) -> str:
    """The instructions that end the system text; they are the same for every call of a step."""
    schema = json.dumps(json_schema(response_model), ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"


def parse_reply(text: str, response_model: type[M], *, cut: bool = False) -> M:
    """Parses the JSON object in the text: the whole text, a fenced block, or the text between the outermost braces.

    `cut` says that the reply stopped at its limit of length.

    Raises:
        InvalidReplyError: no such object fits the model.
    """
    if not text.strip():
        raise InvalidReplyError("it was empty")
    reason = ""
    for candidate in _candidates(text):
        try:
            return response_model.model_validate_json(candidate)
        except ValidationError as error:
            reason = reason or _describe(error)
    if cut:
        raise InvalidReplyError("it was too long and was cut off")
    raise InvalidReplyError(reason or "it holds no JSON object")


def repair_messages(messages: list[Message], text: str, reason: str) -> list[Message]:
    """The conversation, the invalid reply `text`, and a request for a valid one that gives the `reason`."""
    request = f"That reply cannot be used: {reason}. Reply again, with the JSON object only."
    invalid = Message(author="assistant", text=text[:_QUOTED_CHARS] or "(nothing)")
    return [*messages, invalid, Message(author="user", text=request)]


def _candidates(text: str) -> list[str]:
    stripped = text.strip()
    candidates = [stripped] if stripped.startswith("{") else []
    candidates += [block.strip() for block in _FENCE.findall(text)[:3]]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        candidates.append(text[first : last + 1])
    return list(dict.fromkeys(candidates))


def _describe(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False, include_context=False)[:5]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}" for one in first)
