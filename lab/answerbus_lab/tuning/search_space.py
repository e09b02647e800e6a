"""Which settings of a pipeline can be searched, and between which values, from the settings' JSON schema. Pure."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shared.contracts.errors import RefusedError

#: The stages after moderation: a trial asks a question again from its moderated form.
STAGES = ("translation", "retrieval", "answer", "verifier")
#: What a replay does not try: how documents are cut and read when they are indexed, and caches.
NOT_TRIED = ("retrieval.chunk_", "retrieval.whole_chars", "retrieval.extraction.", "retrieval.semantic_cache.")
#: Where a setting has no limit, values up to this many times, and down to this part of, the current one are tried.
REACH = 4
#: An integer step below a limit that is exclusive; of numbers this part of the limit.
_LITTLE = 1e-6


@dataclass(frozen=True)
class TunableSetting:
    """A setting with what it may be: whole numbers or numbers from `low` to `high`, or one of `choices`."""

    name: str
    kind: Literal["integer", "number", "choice"]
    low: float = 0.0
    high: float = 0.0
    choices: tuple[Any, ...] = ()
    default: Any = None

    @property
    def bounded(self) -> bool:
        return self.kind == "choice" or (math.isfinite(self.low) and math.isfinite(self.high))

    def __str__(self) -> str:
        if self.kind == "choice":
            return f"{self.name} ({'|'.join(map(_text, self.choices))})"
        low, high = (_text(value) if math.isfinite(value) else "" for value in (self.low, self.high))
        return f"{self.name} ({low}..{high})"


def tunable_settings(schema: Mapping[str, Any]) -> dict[str, TunableSetting]:
    """Every setting of a pipeline that has a range or a list of values, by its name STAGE.KEY.

    `schema` is that of `GET /api/v1/pipeline-schema`.
    """
    found = {}
    for stage in STAGES:
        section = schema.get("properties", {}).get(stage)
        for setting in _settings(schema, section or {}, stage, ()):
            if not setting.name.startswith(NOT_TRIED):
                found[setting.name] = setting
    return found


def search_space(
    over: Sequence[str], known: Mapping[str, TunableSetting], current: Mapping[str, Any]
) -> list[TunableSetting]:
    """The settings that `--over` names: NAME, NAME=LOW..HIGH or NAME=A|B, each with finite limits.

    `current` has the values that the pipeline has now, by name.

    Raises:
        RefusedError: a setting is unknown, is named twice, or has an invalid range.
    """
    found: list[TunableSetting] = []
    for given in over:
        name, _, values = given.partition("=")
        setting = known.get(name)
        if setting is None:
            raise RefusedError(_unknown(name, known))
        if any(setting.name == name for setting in found):
            raise RefusedError(f"--over {name}: named twice")
        found.append(_given(setting, values) if values else _reached(setting, current.get(name, setting.default)))
    if not found:
        raise RefusedError(f"--over: name settings, such as {', '.join(list(map(str, known.values()))[:3])}")
    return found


def _unknown(name: str, known: Mapping[str, TunableSetting]) -> str:
    stage = name.partition(".")[0]
    if stage not in STAGES:
        return f"--over {name[:80]}: write STAGE.KEY; settings of {', '.join(STAGES)} can be searched"
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    of_stage = [name for name in known if name.startswith(f"{stage}.")]
    shown = ", ".join(str(known[name]) for name in dict.fromkeys((*close, *of_stage)))
    return f"--over {name[:80]}: no setting of that name has a range or a list of values; there are: {shown}"


def _given(setting: TunableSetting, text: str) -> TunableSetting:
    """The setting within the values of `LOW..HIGH` or `A|B`.

    Raises:
        RefusedError: it is not a range within the setting's own.
    """
    wrong = RefusedError(f"--over {setting.name}={text[:60]}: write LOW..HIGH or A|B within {setting}")
    if "|" in text or setting.kind == "choice":
        parts = text.split("|")
        values = tuple(_parsed(part, setting, wrong) for part in parts)
        return TunableSetting(setting.name, "choice", choices=values, default=setting.default)
    low, dots, high = text.partition("..")
    try:
        first, last = float(low), float(high)
    except ValueError:
        raise wrong from None
    if not dots or not setting.low <= first < last <= setting.high:
        raise wrong
    return TunableSetting(setting.name, setting.kind, first, last, default=setting.default)


def _parsed(text: str, setting: TunableSetting, wrong: RefusedError) -> Any:
    if setting.kind == "choice":
        found = next((choice for choice in setting.choices if _text(choice) == text.strip()), None)
        if found is None:
            raise wrong
        return found
    try:
        value = float(text)
    except ValueError:
        raise wrong from None
    if not setting.low <= value <= setting.high or (setting.kind == "integer" and value != int(value)):
        raise wrong
    return int(value) if setting.kind == "integer" else value


def _reached(setting: TunableSetting, current: Any) -> TunableSetting:
    """The setting with finite limits: those that it does not have are around its current value.

    Raises:
        RefusedError: the setting has no current value.
    """
    if setting.bounded:
        return setting
    if isinstance(current, bool) or not isinstance(current, int | float) or current <= 0:
        raise RefusedError(f"--over {setting}: it has no range of its own; write {setting.name}=LOW..HIGH")
    low = max(setting.low, current / REACH)
    high = min(setting.high, current * REACH)
    if setting.kind == "integer":
        low, high = math.floor(low), math.ceil(high)
    return TunableSetting(setting.name, setting.kind, low, high, default=setting.default)


def _settings(
    schema: Mapping[str, Any], node: Mapping[str, Any], name: str, seen: tuple[int, ...]
) -> Iterator[TunableSetting]:
    node = {**node, **_resolved(schema, node)}
    if id(node.get("properties")) in seen:
        return
    if properties := node.get("properties"):
        for key, inner in properties.items():
            yield from _settings(schema, inner, f"{name}.{key}", (*seen, id(properties)))
        return
    default = node.get("default")
    if "enum" in node and len(node["enum"]) > 1:
        yield TunableSetting(name, "choice", choices=tuple(node["enum"]), default=default)
    elif node.get("type") == "boolean":
        yield TunableSetting(name, "choice", choices=(False, True), default=default)
    elif node.get("type") in ("integer", "number"):
        kind: Literal["integer", "number"] = "integer" if node["type"] == "integer" else "number"
        yield TunableSetting(name, kind, _low(node, kind), _high(node, kind), default=default)


def _resolved(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference leads to, or the one alternative of a value that may also be missing."""
    if isinstance(reference := node.get("$ref"), str):
        found: Any = schema
        for part in reference.removeprefix("#/").split("/"):
            found = found.get(part, {})
        return {**found, **_resolved(schema, found)}
    alternatives = [alternative for alternative in node.get("anyOf", ()) if alternative.get("type") != "null"]
    if len(alternatives) == 1:
        return {**alternatives[0], **_resolved(schema, alternatives[0])}
    return {}


def _low(node: Mapping[str, Any], kind: str) -> float:
    if "exclusiveMinimum" in node:
        return float(node["exclusiveMinimum"]) + (1 if kind == "integer" else _LITTLE)
    return float(node.get("minimum", -math.inf))


def _high(node: Mapping[str, Any], kind: str) -> float:
    if "exclusiveMaximum" in node:
        return float(node["exclusiveMaximum"]) - (1 if kind == "integer" else _LITTLE)
    return float(node.get("maximum", math.inf))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)
