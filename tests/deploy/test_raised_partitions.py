"""From one partition to four on a running platform, under load: nothing is lost, doubled or out of reach meanwhile.

The workers are separate processes on one NATS with users, with two gateways; the steps are those of docs/scaling.md.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.partitions import partition_of
from tests.chaos.load import Load
from tests.deploy.mixed_platform import READERS_FIRST, MixedPlatform, mixed_platform
from tests.deploy.releases import CodeVersion, this_version
from tests.deploy.test_upgrade import SUBJECTS, operator
from tests.support.platform import write_corpus, write_pipeline
from tests.support.speed import limit

PARTITIONS = 4
#: Questions a second, and seconds between two steps.
RATE = float(os.environ.get("RAISE_RATE", "8"))
REST = 1.0
#: Questions with a key that are asked before and repeated after.
KEYED = 24


@dataclass
class Raise:
    """What was asked, and what the log and the record have of it afterwards."""

    load: Load
    keyed: dict[str, str] = field(default_factory=dict)
    repeated: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    #: Endings by question, and the partitions of their endings.
    endings: dict[str, list[int]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    recorded: dict[str, int] = field(default_factory=dict)


async def _raised(folder: Path) -> Raise:
    one = this_version()
    with mixed_platform(folder, one) as platform:
        platform.apply_pipelines(one, str(write_pipeline(folder / "default", deadline_seconds=900)))
        async with platform.front.serving():
            await asyncio.to_thread(platform.start_all, one)
            corpus = str(write_corpus(folder / "corpus"))
            await asyncio.to_thread(lambda: one.run("ingest", corpus, "--url", platform.front.url, variables={}))
            questions = [f"What should I know about the {one}, please?" for one in SUBJECTS]
            story = Raise(Load(platform.front.url, questions, RATE, "raise"))
            story.keyed = await _keyed(platform)
            asking, began = asyncio.create_task(story.load.work()), time.monotonic()
            await asyncio.sleep(REST)
            await _raise(platform, one)
            story.repeated = await _keyed(platform)
            await asyncio.sleep(5 * REST)
            story.load.stop()
            await asking
            story.seconds = time.monotonic() - began
            await _look(platform, story)
    return story


async def _raise(platform: MixedPlatform, one: CodeVersion) -> None:
    """Users, streams, workers that read four partitions and fill one, gateways that fill four."""
    reads, fills = replace(one, name="reads-four"), replace(one, name="fills-four")
    platform.settings = {"ANSWERBUS_PARTITIONS": str(PARTITIONS), "ANSWERBUS_PARTITIONS_OPENED": "1"}
    await _step("users", platform.issue_credentials, one)
    await _step("provision", platform.provision, one)
    for stage in READERS_FIRST:
        await _step(f"{stage} reads", platform.replace, stage, reads)
    del platform.settings["ANSWERBUS_PARTITIONS_OPENED"]
    await _step("gateways fill", platform.replace, "gateway", fills)


async def _step(name: str, work: object, *arguments: object) -> None:
    began = time.monotonic()
    await asyncio.to_thread(work, *arguments)  # type: ignore[arg-type]
    await asyncio.sleep(REST)
    print(f"raise: {name}, {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)


async def _keyed(platform: MixedPlatform) -> dict[str, str]:
    """The ids of questions with the same keys every time, by key."""
    found = {}
    async with httpx.AsyncClient(base_url=platform.front.url, trust_env=False, timeout=30) as client:
        for number in range(KEYED):
            key = f"key {number}"
            body = {"question": f"What is the rent of a garden plot? ({number})"}
            reply = await client.post("/api/v1/questions", json=body, headers={"Idempotency-Key": key})
            assert reply.status_code in (200, 202), reply.text
            found[key] = str(reply.json()["id"])
    return found


async def _look(platform: MixedPlatform, story: Raise) -> None:
    ids = [*(one.cid for one in story.load.asked), *story.keyed.values()]
    async with operator(platform) as client:
        jetstream = client.jetstream(timeout=30)
        for partition, stream in enumerate(subjects.streams(PARTITIONS), start=1):
            wanted = subjects.in_partition(subjects.endings(Lane.LIVE), partition)
            info = await jetstream.stream_info(stream, subjects_filter=wanted)
            for subject in info.state.subjects or {}:
                story.endings.setdefault(subjects.parse(subject).correlation_id, []).append(partition)
    async with httpx.AsyncClient(base_url=platform.front.url, trust_env=False, timeout=30) as client:
        for cid in ids:
            if (await client.get(f"/api/v1/questions/{cid}")).status_code != 200:
                story.unreadable.append(cid)
    until = time.monotonic() + limit(30)
    while time.monotonic() < until and not set(ids) <= set(story.recorded):
        story.recorded = platform.recorded()
        await asyncio.sleep(0.5)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Raise:
    told = asyncio.run(_raised(tmp_path_factory.mktemp("raise")))
    places = Counter(place for places in told.endings.values() for place in places)
    waits = sorted(one.ended - one.put for one in told.load.asked)
    print(
        f"\n{len(told.load.asked)} questions in {told.seconds:.0f} s, by partition {dict(sorted(places.items()))}; "
        f"p50 {waits[len(waits) // 2]:.2f} s, longest {waits[-1]:.1f} s"
    )
    return told


def test_every_question_has_exactly_one_ending_in_one_partition(story: Raise) -> None:
    ids = {one.cid for one in story.load.asked}

    assert story.load.never_accepted == 0
    assert ids <= set(story.endings), "a question was lost"
    assert {len(story.endings[cid]) for cid in ids} == {1}, "a question was asked twice"
    assert all(one.ended for one in story.load.asked)
    assert {ending for cid in ids for ending in story.endings[cid]} == {1, 2, 3, 4}


def test_questions_of_before_and_after_are_found_and_on_record_once(story: Raise) -> None:
    assert story.unreadable == []
    assert {story.recorded.get(one.cid) for one in story.load.asked} == {1}


def test_a_key_that_is_sent_again_after_the_raise_gives_the_same_question(story: Raise) -> None:
    moved = [cid for cid in story.keyed.values() if partition_of(cid, PARTITIONS) != 1]

    assert story.repeated == story.keyed
    assert len(moved) > KEYED / 3
    assert {tuple(story.endings[cid]) for cid in story.keyed.values()} == {(1,)}
