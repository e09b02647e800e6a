"""Values that a scripted reply takes from what its model has read: ids of slots, for example, depend on the date. Pure.

`${slots[1].id}` is the field `id` of the second row of the newest block `slots`, be it the result of a tool or a
structured result of an earlier turn (`results-shown-then`), with fields that are known by their names: `${expert.id}`.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_REFERENCE = re.compile(r"\$\{([a-z_-]+)((?:\[-?\d+\]|\.[A-Za-z_]+)*)\}")
_STEP = re.compile(r"\[(-?\d+)\]|\.([A-Za-z_]+)")
#: The line that begins a block (`shared.llm.prompt_blocks`).
_OPENING = re.compile(r"<([a-z-]+)(?: [^<>]*)?>")


def values_in(texts: Iterable[str]) -> dict[str, Any]:
    """The rows of every block of the texts by the block's name, and the fields of each row; what comes later counts."""
    values: dict[str, Any] = {}
    for text in texts:
        name, rows = "", list[Any]()
        for line in text.split("\n"):
            if found := _OPENING.fullmatch(line):
                name, rows = found[1], []
            elif name and line.startswith("{") and isinstance(row := _row(line), dict):
                rows.append(row)
                values |= row | {name: rows}
    return values


def filled(content: Any, values: Mapping[str, Any]) -> Any:
    """The text, list or mapping with each reference replaced by its value; a text that is one reference becomes it.

    Raises:
        LookupError: the value does not exist.
    """
    if isinstance(content, dict):
        return {key: filled(value, values) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [filled(value, values) for value in content]
    if not isinstance(content, str):
        return content
    if whole := _REFERENCE.fullmatch(content):
        return _value(whole, values)
    return _REFERENCE.sub(lambda found: str(_value(found, values)), content)


def _row(line: str) -> Any:
    try:
        return json.loads(html.unescape(line))
    except ValueError:
        return None


def _value(reference: re.Match[str], values: Mapping[str, Any]) -> Any:
    try:
        value = values[reference[1]]
        for number, name in _STEP.findall(reference[2]):
            value = value[int(number)] if number else value[name]
    except (LookupError, TypeError):
        raise LookupError(f"{reference[0]}: the model has read no such value") from None
    return value
