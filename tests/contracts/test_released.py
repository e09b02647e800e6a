"""Workers of the version that upgrades begin from and of this one run side by side: neither may need what the other
does not write, nor remove what the other still uses (docs/upgrades.md).

What is removed on purpose, when no version in use needs it any more, is named in `snapshot/contracted.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from io import StringIO
from typing import Any

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from cli.host.catalogue import stages
from services.persistence import migrations
from shared.contracts.domain import Lane
from shared.contracts.envelope import decode, event_type
from shared.contracts.facts import FACTS
from shared.runtime.permissions import users
from tests.contracts.compatibility import Reading, removed
from tests.contracts.released import contracted, released
from tests.contracts.samples import sample_events
from tests.contracts.test_golden import lost
from tests.support.table import table

BEFORE = released()
CONTRACTED = contracted()
every_old_fact = table("name", sorted(BEFORE.facts))
every_old_request = table("name", sorted(BEFORE.requests))
REQUESTS = {f"{stage.name}.{one.verb}": one for stage in stages() for one in stage.request_handlers}
#: A version that stopped using it, and why it was removed.
NAMED = re.compile(r"since [0-9a-f]{7,40}: .{10,}|since \d+\.\d+[.\d]*: .{10,}")


def uncontracted(places: Iterable[str], what: str) -> list[str]:
    """A sentence for each place that is gone without being named as contracted."""
    return [
        f"{place} is gone, and {what}; keep it for a release, then name it in tests/contracts/snapshot/contracted.json"
        for place in sorted(places)
        if place not in CONTRACTED
    ]


def schema_of(name: str) -> dict[str, Any]:
    assert name in FACTS, f"the fact {name} is gone, and the log of the version before has it"
    return event_type(FACTS[name]).model_json_schema()


@every_old_fact
def test_this_version_reads_every_event_of_the_version_before(name: str) -> None:
    assert Reading(schema_of(name), BEFORE.facts[name]).faults(name) == [], "events on the log could not be read"
    document = BEFORE.events[name]
    subject = sample_events()[name].subject.replace(sample_events()[name].correlation_id, document["correlation_id"])

    event = decode(subject, json.dumps(document).encode())

    assert [place for place in lost(document, json.loads(event.encode())) if name + place not in CONTRACTED] == []


@every_old_fact
def test_workers_of_the_version_before_read_every_event_of_this_one(name: str) -> None:
    faults = Reading(BEFORE.facts[name], schema_of(name)).faults(name)
    gone = uncontracted(removed(BEFORE.facts[name], schema_of(name), name), "workers of the version before read it")

    assert faults + gone == [], "workers of the version before would refuse or misread events of this one"


@every_old_request
def test_requests_and_replies_fit_in_both_directions(name: str) -> None:
    """A gateway of either version asks a stage of either version."""
    if name in CONTRACTED:
        return
    assert name in REQUESTS, f"{name} is not answered any more, and gateways of the version before ask it"
    before = BEFORE.requests[name]
    now = {
        "request": REQUESTS[name].request.model_json_schema(),
        "reply": REQUESTS[name].reply.model_json_schema(mode="serialization"),
    }

    faults = [
        fault
        for part in ("request", "reply")
        for reads, writes in ((now[part], before[part]), (before[part], now[part]))
        for fault in Reading(reads, writes).faults(f"{name}.{part}")
        if fault.partition(":")[0] not in CONTRACTED
    ]

    assert faults == [], "one version could not read what the other one sends"


def test_durables_of_the_version_before_are_still_provisioned() -> None:
    """A durable of another name begins with new events: those that wait in the old one would be lost."""
    now = {one.durable(lane) for stage in stages() for one in stage.subscriptions for lane in Lane}

    assert uncontracted(set(BEFORE.durables) - now, "events may wait in it") == []


def test_users_of_nats_may_all_that_they_might_in_the_version_before() -> None:
    """The users are issued before the workers are replaced, and both versions log in as the same ones."""
    now = users(stages())
    gone = {
        f"{user}.{verb}.{subject}"
        for user, granted in BEFORE.permissions.items()
        for verb, subjects in granted.items()
        for subject in set(subjects) - set(getattr(now[user], verb) if user in now else ())
    }

    assert uncontracted(gone, "workers of the version before use it") == []


#: Statements after which a version that does not know them cannot work, in the words of PostgreSQL.
CONTRACTING = {
    r"DROP TABLE": "drops a table",
    r"ALTER TABLE .* DROP ": "drops a column or a constraint",
    r"ALTER TABLE .* RENAME": "renames a table or a column",
    r"ALTER TABLE .* SET NOT NULL": "forbids empty values",
    r"ALTER TABLE .* TYPE ": "changes a type",
    r"ALTER TABLE .* ADD (CONSTRAINT|PRIMARY KEY|UNIQUE|CHECK|FOREIGN KEY)": "adds a constraint",
    r"ALTER TABLE .* ADD COLUMN (?!.*DEFAULT).*NOT NULL": "adds a column that must be filled and has no default",
    r"CREATE UNIQUE INDEX": "forbids equal values",
    r"(DELETE FROM|TRUNCATE) ": "deletes rows",
}


def statements(revision: str) -> list[str]:
    """The SQL of a migration's upgrade, as PostgreSQL would get it."""
    script = ScriptDirectory(str(migrations.LOCATION)).get_revision(revision)
    assert script
    written = StringIO()
    options = {"as_sql": True, "output_buffer": written}
    with Operations.context(MigrationContext.configure(dialect_name="postgresql", opts=options)):
        script.module.upgrade()
    return [" ".join(one.split()) for one in written.getvalue().split(";") if one.strip()]


def contracting(sql: Iterable[str]) -> list[str]:
    """Why a version that does not know these statements cannot work after them; none: it can.

    What concerns a table that the same migration creates is nobody's yet.
    """
    created: set[str] = set()
    found = []
    for statement in sql:
        if made := re.match(r"CREATE TABLE (\S+)", statement):
            created.add(made[1])
        for pattern, reason in CONTRACTING.items():
            if re.match(pattern, statement) and not created & set(statement.replace("(", " ").split()):
                found.append(f"{reason}: {statement[:100]}")
    return found


REVISIONS = sorted(one.revision for one in ScriptDirectory(str(migrations.LOCATION)).walk_revisions())


@table("revision", REVISIONS)
def test_a_migration_only_expands_unless_it_is_named_as_contracting(revision: str) -> None:
    found = contracting(statements(revision))

    if f"migration {revision}" in CONTRACTED:
        assert found, f"migration {revision} is named as contracting and is not"
        return
    assert found == [], (
        f"migration {revision} breaks persistence workers of the version before, which run on the migrated record "
        "during an upgrade and after a way back; expand now, contract in a later release (docs/upgrades.md)"
    )


@table(
    ("statement", "breaks"),
    [
        ("ALTER TABLE exchanges DROP COLUMN scores", True),
        ("ALTER TABLE exchanges RENAME COLUMN kind TO sort", True),
        ("ALTER TABLE exchanges ADD COLUMN mood VARCHAR NOT NULL", True),
        ("ALTER TABLE exchanges ADD COLUMN mood VARCHAR DEFAULT '' NOT NULL", False),
        ("ALTER TABLE exchanges ADD COLUMN mood VARCHAR", False),
        ("ALTER TABLE exchanges ALTER COLUMN kind TYPE INTEGER", True),
        ("ALTER TABLE exchanges ALTER COLUMN kind SET NOT NULL", True),
        ("CREATE UNIQUE INDEX one ON exchanges (kind)", True),
        ("CREATE INDEX one ON exchanges (kind)", False),
        ("DROP TABLE exchanges", True),
        ("DELETE FROM exchanges", True),
        ("CREATE TABLE moods (id VARCHAR NOT NULL)", False),
    ],
)
def test_what_breaks_a_worker_of_the_version_before_is_recognised(statement: str, breaks: bool) -> None:
    assert bool(contracting([statement])) is breaks


def test_a_constraint_on_a_table_of_the_same_migration_breaks_nobody() -> None:
    assert contracting(["CREATE TABLE moods (id VARCHAR)", "CREATE UNIQUE INDEX one ON moods (id)"]) == []


def test_what_is_contracted_says_since_which_version_it_is_not_used() -> None:
    assert {place: why for place, why in CONTRACTED.items() if not NAMED.fullmatch(why)} == {}


OLD = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "kind": {"enum": ["a", "b"], "type": "string"},
        "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "inner": {"$ref": "#/$defs/Inner"},
    },
    "required": ["text", "kind"],
    "$defs": {"Inner": {"type": "object", "properties": {"score": {"type": "number", "maximum": 1}}}},
}


def changed(**properties: Any) -> dict[str, Any]:
    """The old schema with other properties; None removes one."""
    merged = {**OLD["properties"], **properties}  # type: ignore[dict-item]
    return {**OLD, "properties": {name: one for name, one in merged.items() if one is not None}}


@table(
    ("new", "old_reads_new", "new_reads_old"),
    [
        (changed(), True, True),
        (changed(more={"type": "string", "default": ""}), True, True),
        ({**changed(more={"type": "string"}), "required": ["text", "kind", "more"]}, True, False),
        ({**changed(text=None), "required": ["kind"]}, False, True),
        (changed(kind={"enum": ["a", "b", "c"], "type": "string"}), False, True),
        (changed(kind={"enum": ["a"], "type": "string"}), True, False),
        (changed(kind={"const": "a", "type": "string"}), True, False),
        (changed(count={"type": "integer"}), True, False),
        (changed(count={"anyOf": [{"type": "number"}, {"type": "null"}]}), False, True),
        (changed(text={"type": "array", "items": {"type": "string"}}), False, False),
        (changed(inner={"type": "object", "properties": {"score": {"type": "number", "maximum": 2}}}), False, True),
        (changed(inner={"type": "object", "properties": {"score": {"type": "number"}}}), False, True),
        (changed(text={"type": "string", "pattern": "^x"}), True, False),
        ({**changed(kind=None), "required": ["text"], "additionalProperties": False}, False, False),
    ],
)
def test_a_change_of_a_schema_is_judged_for_each_reader(
    new: dict[str, Any], old_reads_new: bool, new_reads_old: bool
) -> None:
    assert (Reading(OLD, new).faults("Fact") == []) is old_reads_new
    assert (Reading(new, OLD).faults("Fact") == []) is new_reads_old


def test_a_property_that_is_gone_is_told_also_when_it_was_optional() -> None:
    assert removed(OLD, changed(count=None), "Fact") == {"Fact.count"}
    assert Reading(OLD, {**changed(text=None), "required": []}).faults("Fact") == [
        "Fact.text: is required and not written"
    ]
