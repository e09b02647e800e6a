"""Yesterday's log stays readable: stored bytes of every fact, read by today's code.

A new fact needs a sample in `samples.py`; `python -m tests.contracts.samples` writes its golden file and adds its
subject to `golden_subjects.json`. What exists there is never rewritten: when a test here fails, the change of the fact
is at fault. A field may be added with a default; none may be renamed, removed, narrowed, or made required.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import decode, event_id
from shared.contracts.facts import FACTS
from tests.contracts.samples import GOLDEN, GOLDEN_SUBJECTS, sample_events, write_missing, write_missing_subjects
from tests.support.table import table

#: The subjects the golden events were stored under; `{}` stands for the correlation id.
SUBJECTS: dict[str, str] = json.loads(GOLDEN_SUBJECTS.read_text("utf-8"))
every_fact = table("name", FACTS)


def stored(name: str) -> tuple[str, bytes, dict[str, Any]]:
    """Subject, bytes and JSON of a golden event."""
    data = (GOLDEN / f"{name}.json").read_bytes()
    document = json.loads(data)
    return SUBJECTS[name].format(document["correlation_id"]), data, document


def lost(before: Any, after: Any, place: str = "") -> list[str]:
    """The places where `after` does not say what `before` said; what is new in `after` does not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [f"{place}.{key}" for key in before if key not in after]
        kept = [(f"{place}.{key}", value, after[key]) for key, value in before.items() if key in after]
        return gone + [there for inner, b, a in kept for there in lost(b, a, inner)]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [there for number, (b, a) in pairs for there in lost(b, a, f"{place}[{number}]")]
    return [] if before == after else [place]


def test_golden_files_exist_for_every_fact_and_no_other() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(FACTS) == set(SUBJECTS) == set(sample_events())


@every_fact
def test_golden_event_is_read_by_todays_code(name: str) -> None:
    subject, data, document = stored(name)

    event = decode(subject, data)

    assert type(event.payload) is FACTS[name]
    assert event.fact == name
    assert event.correlation_id == document["correlation_id"]


@every_fact
def test_golden_event_keeps_every_field_when_it_is_written_again(name: str) -> None:
    subject, data, document = stored(name)

    again = json.loads(decode(subject, data).encode())

    assert lost(document, again) == []


@every_fact
def test_golden_event_is_still_spelled_under_its_subject(name: str) -> None:
    subject, data, document = stored(name)

    assert decode(subject, data).subject == subject
    spelled = subjects.parse(subject)
    assert (spelled.fact, spelled.lane) == (name, Lane(document["lane"]))
    assert spelled.number == (None if FACTS[name].terminal else document["attempt"])


@every_fact
def test_golden_event_has_the_id_that_its_sayer_gives_it_today(name: str) -> None:
    _, _, document = stored(name)

    ids = {
        event_id(stage, FACTS[name], document["correlation_id"], document["attempt"])
        for stage in FACTS[name].published_by
    }

    assert document["event_id"] in ids


@every_fact
def test_golden_event_of_a_newer_writer_is_read_with_its_unknown_fields_left_out(name: str) -> None:
    subject, _, document = stored(name)
    newer = {**document, "schema_version": 99, "mood": "new", "payload": {**document["payload"], "shade": ["new"]}}

    event = decode(subject, json.dumps(newer).encode())

    assert event.schema_version == 99
    assert "new" not in json.loads(event.encode())["payload"].values()
    assert lost(document["payload"], json.loads(event.encode())["payload"]) == []


def test_golden_events_use_every_field_of_every_fact() -> None:
    """A field that no golden event has could be renamed unnoticed; one added since its golden file is in the sample."""
    missing = {
        f"{name}.{field}"
        for name, event in sample_events().items()
        for field in type(event.payload).model_fields
        if field not in event.model_dump(exclude_unset=True)["payload"]
    }

    assert missing == {"DocumentIndexed.unchanged"}


def test_write_missing_touches_no_golden_file_that_exists(tmp_path: Path) -> None:
    kept = tmp_path / "AnswerVerified.json"
    kept.write_bytes(b"yesterday")

    written = write_missing(tmp_path)

    assert kept.read_bytes() == b"yesterday"
    assert sorted(written) == sorted(f"{name}.json" for name in FACTS if name != "AnswerVerified")
    assert write_missing(tmp_path) == []


def test_write_missing_changes_no_subject_that_exists(tmp_path: Path) -> None:
    kept = tmp_path / "subjects.json"
    before = {**SUBJECTS, "AnswerVerified": "yesterday"}
    kept.write_text(json.dumps({name: subject for name, subject in before.items() if name != "QuestionAsked"}))

    assert write_missing_subjects(kept) == ["QuestionAsked"]
    assert json.loads(kept.read_text()) == before
    assert write_missing_subjects(kept) == []


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"b": 1}, [".a"]),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, [".a.b[1].c"]),
        ({"a": [1]}, {"a": [1, 2]}, [".a"]),
    ],
)
def test_lost_names_the_places_that_changed(before: Any, after: Any, places: list[str]) -> None:
    assert lost(before, after) == places
