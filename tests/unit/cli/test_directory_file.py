"""What a directory file holds, and what is said of one that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.operations.directory_file import BATCH, batches, read_directory
from shared.contracts.errors import RefusedError
from shared.contracts.payloads import Slot

ROOT = Path(__file__).resolve().parents[3]
MONDAY = datetime(2030, 5, 6, 9, 30, tzinfo=UTC)
FILE = """
experts:
  - id: lind
    name: Dr. Amara Lind
    topics: [stress]
    timezone: Europe/Oslo
    weekly: {days: [mon, Wednesday], times: ["10:00", "14:00"], minutes: 45, weeks: 1}
slots:
  - {expert_id: lind, starts_at: "2030-06-01T10:00", minutes: 30}
  - {id: late, expert_id: lind, starts_at: "2030-06-01T20:00Z", ends_at: "2030-06-01T21:00Z"}
content:
  - {id: calm, title: A calm minute, kind: videos, topics: [stress]}
"""


def written(folder: Path, text: str, name: str = "directory.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_weekly_times_become_slots_in_the_experts_own_time_zone(tmp_path: Path) -> None:
    read = read_directory(written(tmp_path, FILE), now=MONDAY)

    assert [(slot.id, slot.starts_at.hour) for slot in read.slots] == [
        ("lind-20300601T0800", 8),
        ("late", 20),
        ("lind-20300506T1200", 12),  # ten o'clock in Oslo has passed
        ("lind-20300508T0800", 8),
        ("lind-20300508T1200", 12),
    ]
    assert [(slot.ends_at - slot.starts_at).seconds // 60 for slot in read.slots] == [30, 60, 45, 45, 45]


def test_the_same_file_read_again_names_the_same_slots(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)

    assert read_directory(path, now=MONDAY) == read_directory(path, now=MONDAY)


def test_a_csv_file_holds_one_kind_of_row(tmp_path: Path) -> None:
    experts = read_directory(written(tmp_path, "id,name,topics\nlind,Dr. Lind,stress; sleep\n", "e.csv")).experts
    slots = read_directory(written(tmp_path, "expert_id,starts_at,minutes\nlind,2030-05-06T10:00,30\n", "s.csv")).slots
    content = read_directory(written(tmp_path, "id,title,kind\ncalm,A calm minute,videos\n", "c.csv")).content

    assert experts[0].topics == ("stress", "sleep")
    assert slots == (
        Slot(
            id="lind-20300506T1000",
            expert_id="lind",
            starts_at=datetime(2030, 5, 6, 10, tzinfo=UTC),
            ends_at=datetime(2030, 5, 6, 10, 30, tzinfo=UTC),
        ),
    )
    assert content[0].kind == "videos"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a list", "expected a mapping with the keys"),
        ("people: []", "expected a mapping with the keys"),
        ("experts: [a]", "experts 1: expected a mapping"),
        ("experts: [{id: a, name: A, topic: x}]", "expert 1: unknown field topic"),
        ("experts: [{id: a}]", "expert 1: name"),
        ("experts: [{id: a, name: A, timezone: Mars}]", "not a time zone"),
        ("experts: [{id: a, name: A, weekly: {days: [someday], times: [x]}}]", "weekly of a: expected days"),
        ("slots: [{expert_id: a}]", "slot 1: expected expert_id"),
        ("content: [{id: a, title: A, kind: songs}]", "content 1: kind"),
        ("a: [", "directory.yaml"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        read_directory(written(tmp_path, text))


def test_a_csv_file_of_other_columns_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="expected the columns"):
        read_directory(written(tmp_path, "a,b\n1,2\n", "x.csv"))
    with pytest.raises(RefusedError, match="No such file"):
        read_directory(tmp_path / "none.yaml")


def test_many_rows_are_sent_in_requests_that_fit_a_message(tmp_path: Path) -> None:
    lines = "\n".join(f"lind,2030-05-06T10:{number % 60:02}:{number // 60:02},30" for number in range(BATCH + 1))
    read = read_directory(written(tmp_path, f"expert_id,starts_at,minutes\n{lines}\n", "s.csv"))

    assert [len(batch.slots) for batch in batches(read)] == [BATCH, 1]
    assert all(len(batch.model_dump_json()) < 500_000 for batch in batches(read))


def test_the_example_directory_can_be_read() -> None:
    read = read_directory(ROOT / "deploy" / "pipelines" / "support" / "directory.yaml")

    assert {expert.id for expert in read.experts} == {slot.expert_id for slot in read.slots}
    assert {item.kind for item in read.content} == {"articles", "videos"}
