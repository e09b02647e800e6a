"""Reads a directory file: experts, their free slots, articles and videos.

YAML (or JSON) has the keys `experts`, `slots` and `content`. An expert may have `weekly` times, which become slots for
the coming weeks in the expert's own time zone:

    experts:
      - {id: lind, name: Dr. Amara Lind, topics: [stress], timezone: Europe/Oslo,
         weekly: {days: [mon, wed], times: ["10:00", "14:00"], minutes: 50, weeks: 4}}
    slots: [{expert_id: lind, starts_at: "2030-05-06T10:00", minutes: 50}]
    content: [{id: calm, title: A calm minute, kind: videos, topics: [stress], url: "https://example.org/calm"}]
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import BaseModel, ValidationError

from shared.contracts.errors import RefusedError, first_fault
from shared.contracts.payloads import ContentItem, Expert, Slot
from shared.contracts.requests.directory import LoadRequest
from shared.contracts.tenants import DEFAULT_TENANT

M = TypeVar("M", bound=BaseModel)

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MINUTES = 50
_WEEKS = 4
#: Rows of one request to persistence.
BATCH = 500
_LISTS = ("topics", "languages", "session_types")


def read_directory(path: Path, *, now: datetime | None = None, tenant: str = DEFAULT_TENANT) -> LoadRequest:
    """The rows of a file, for the directory of a tenant; weekly times become slots from `now` on.

    Raises:
        RefusedError: the file cannot be read or a row is invalid; the text names the row and the error.
    """
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else _yaml_rows(path)
    weekly: list[tuple[Expert, Mapping[str, Any]]] = []
    experts = []
    for number, row in enumerate(rows["experts"], start=1):
        pattern = row.pop("weekly", None)
        experts.append(_read(Expert, row, f"expert {number}"))
        if pattern is not None:
            weekly.append((experts[-1], _mapping(pattern, f"weekly of expert {number}")))
    zones = {expert.id: _zone(expert.timezone, expert.id) for expert in experts}
    slots = [_slot(row, zones, f"slot {number}") for number, row in enumerate(rows["slots"], start=1)]
    for expert, pattern in weekly:
        slots += _weekly(expert, pattern, zones[expert.id], now or datetime.now(UTC))
    content = [_read(ContentItem, row, f"content {number}") for number, row in enumerate(rows["content"], start=1)]
    return LoadRequest(tenant=tenant, experts=tuple(experts), slots=tuple(slots), content=tuple(content))


def batches(request: LoadRequest) -> Iterator[LoadRequest]:
    """The rows in requests that fit into a message."""
    for name in ("experts", "slots", "content"):
        rows = getattr(request, name)
        for at in range(0, len(rows), BATCH):
            yield LoadRequest.model_validate({name: rows[at : at + BATCH], "tenant": request.tenant})


def _yaml_rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RefusedError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    known = ("experts", "slots", "content")
    if not isinstance(document, dict) or set(document) - set(known):
        raise RefusedError(f"{path}: expected a mapping with the keys {', '.join(known)}")
    return {
        name: [dict(_mapping(row, f"{name} {at}")) for at, row in enumerate(document.get(name) or [], start=1)]
        for name in known
    }


def _csv_rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows: list[dict[str, Any]] = [dict(row) for row in csv.DictReader(file)]
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise RefusedError(f"{path}: {error}") from None
    columns = set(rows[0]) if rows else set()
    kinds = {"slots": {"expert_id", "starts_at"}, "content": {"id", "title"}, "experts": {"id", "name"}}
    kind = next((name for name in ("slots", "experts", "content") if kinds[name] <= columns), "")
    if not kind:
        raise RefusedError(f"{path}: expected the columns of slots, experts or content, such as expert_id,starts_at")
    for row in rows:
        for name in list(row):
            if not row[name]:
                del row[name]
            elif name in _LISTS:
                row[name] = [part.strip() for part in row[name].split(";") if part.strip()]
    return {"experts": [], "slots": [], "content": []} | {kind: rows}


def _slot(row: dict[str, Any], zones: Mapping[str, ZoneInfo], place: str) -> Slot:
    """A slot from its start (in the expert's time zone, unless it has its own) and its minutes or end."""
    expert = str(row.get("expert_id", ""))
    try:
        begin = _when(row["starts_at"], zones.get(expert))
        minutes = timedelta(minutes=float(row.get("minutes", _MINUTES)))
        end = _when(row["ends_at"], zones.get(expert)) if row.get("ends_at") else begin + minutes
    except (KeyError, ValueError, TypeError):
        raise RefusedError(f"{place}: expected expert_id, starts_at (ISO 8601) and minutes or ends_at") from None
    fields = {"id": row.get("id") or _slot_id(expert, begin), "expert_id": expert, "starts_at": begin, "ends_at": end}
    return _read(Slot, fields, place)


def _weekly(expert: Expert, pattern: Mapping[str, Any], zone: ZoneInfo, now: datetime) -> list[Slot]:
    place = f"weekly of {expert.id}"
    try:
        days = [_DAYS.index(str(day).lower()[:3]) for day in pattern["days"]]
        times = [time.fromisoformat(str(at)) for at in pattern["times"]]
        minutes, weeks = float(pattern.get("minutes", _MINUTES)), int(pattern.get("weeks", _WEEKS))
    except (KeyError, ValueError, TypeError):
        raise RefusedError(f'{place}: expected days such as [mon], times such as ["10:00"], minutes, weeks') from None
    today = now.astimezone(zone).date()
    found = []
    for day in (today + timedelta(days=after) for after in range(7 * min(weeks, 52))):
        for at in times if day.weekday() in days else ():
            begin = datetime.combine(day, at, zone).astimezone(UTC)
            if begin > now:
                end = begin + timedelta(minutes=minutes)
                found.append(Slot(id=_slot_id(expert.id, begin), expert_id=expert.id, starts_at=begin, ends_at=end))
    return found


def _slot_id(expert: str, begin: datetime) -> str:
    return f"{expert}-{begin:%Y%m%dT%H%M}"


def _when(value: object, zone: ZoneInfo | None) -> datetime:
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    return (found if found.tzinfo else found.replace(tzinfo=zone or UTC)).astimezone(UTC)


def _zone(name: str, expert: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise RefusedError(f"expert {expert}: {name!r} is not a time zone; use a name such as Europe/Oslo") from None


def _mapping(row: object, place: str) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise RefusedError(f"{place}: expected a mapping")
    return row


def _read(kind: type[M], row: Mapping[str, Any], place: str) -> M:
    unknown: Iterable[str] = set(row) - set(kind.model_fields)
    if unknown:
        raise RefusedError(f"{place}: unknown field {sorted(unknown)[0]}; fields: {', '.join(kind.model_fields)}")
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        raise RefusedError(f"{place}: {first_fault(error)}") from None
