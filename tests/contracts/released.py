"""A snapshot of the version that upgrades begin from: what its workers write, read and use on the bus.

    python -m tests.contracts.released COMMIT      # replaces the snapshot by that of a commit, usually a release

It is taken from that version's own code, in an environment of its own. `test_released.py` compares with it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "snapshot"
EVENTS, SCHEMAS, BUS, CONTRACTED = (
    FOLDER / "events",
    FOLDER / "schemas.json",
    FOLDER / "bus.json",
    FOLDER / "contracted.json",
)

#: Run by the version's own interpreter; uses nothing that only this version has.
PROGRAM = """
import json
from cli.host.catalogue import stages
from shared.contracts.domain import Lane
from shared.contracts.envelope import event_type
from shared.contracts.facts import FACTS
from shared.runtime.permissions import users
from tests.contracts.samples import sample_events

declared = stages()
requests = {}
for stage in declared:
    for one in stage.request_handlers:
        place = f"{stage.name}.{one.verb}"
        requests[place] = {
            "request": one.request.model_json_schema(),
            "reply": one.reply.model_json_schema(mode="serialization"),
        }
print(json.dumps({
    "events": {name: json.loads(event.encode()) for name, event in sample_events().items()},
    "facts": {name: event_type(fact).model_json_schema() for name, fact in FACTS.items()},
    "requests": requests,
    "durables": sorted(one.durable(lane) for stage in declared for one in stage.subscriptions for lane in Lane),
    "permissions": {
        user: {"publish": sorted(granted.publish), "subscribe": sorted(granted.subscribe)}
        for user, granted in users(declared).items()
    },
}))
"""


@dataclass(frozen=True)
class Released:
    """The snapshot of a version: an event of every fact, schemas of events and requests, durables and permissions."""

    events: dict[str, dict[str, Any]]
    facts: dict[str, dict[str, Any]]
    requests: dict[str, dict[str, dict[str, Any]]]
    durables: list[str]
    permissions: dict[str, dict[str, list[str]]]


def released() -> Released:
    """The committed snapshot."""
    events = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(EVENTS.iterdir())}
    return Released(events=events, **json.loads(SCHEMAS.read_text("utf-8")), **json.loads(BUS.read_text("utf-8")))


def contracted() -> dict[str, str]:
    """What was removed on purpose, by its place: the version that stopped using it, and why."""
    return dict(json.loads(CONTRACTED.read_text("utf-8")))


def write(taken: dict[str, Any]) -> None:
    """Replace the snapshot."""
    shutil.rmtree(EVENTS, ignore_errors=True)
    EVENTS.mkdir(parents=True)
    for name, event in taken["events"].items():
        (EVENTS / f"{name}.json").write_text(_text(event), "utf-8")
    SCHEMAS.write_text(_text({"facts": _plain(taken["facts"]), "requests": _plain(taken["requests"])}), "utf-8")
    BUS.write_text(_text({name: taken[name] for name in ("durables", "permissions")}), "utf-8")
    if not CONTRACTED.exists():
        CONTRACTED.write_text("{}\n", "utf-8")


def _plain(schema: Any) -> Any:
    """A schema without descriptions and titles, which may change."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    prose = {name for name in ("description", "title") if isinstance(schema.get(name), str)}
    return {name: _plain(value) for name, value in schema.items() if name not in prose}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def main() -> None:
    from tests.deploy.releases import older_version

    with tempfile.TemporaryDirectory(prefix="answerbus-released-") as folder:
        ran = older_version(Path(folder), sys.argv[1]).execute(PROGRAM)
    if ran.returncode:
        raise SystemExit(ran.stderr[-2000:])
    write(json.loads(ran.stdout))


if __name__ == "__main__":
    main()
