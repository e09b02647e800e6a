"""Provisioning: creates streams and durables, can be repeated, and applies changed settings."""

from __future__ import annotations

import pytest
from nats.js.api import AckPolicy, ConsumerConfig, StorageType
from nats.js.errors import APIError, NotFoundError

from cli.host.catalogue import stages
from cli.operations import bus
from shared.bus.stage_status import OWNER, live_backlog, overview
from shared.contracts import subjects
from shared.contracts.domain import Lane, Question
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.contracts.facts import QuestionApproved, QuestionAsked, QuestionCleared
from shared.runtime.settings import Settings
from tests.integration.rig import Rig, asked, stage_of, until

pytestmark = pytest.mark.integration


async def approve(question: QuestionAsked) -> QuestionApproved:
    return QuestionApproved(question=Question(text=question.text))


async def clear(approved: QuestionApproved) -> QuestionCleared:
    return QuestionCleared(question=approved.question)


MODERATION = stage_of(approve)
TRANSLATION = stage_of(clear, name="translation")
#: The same fact, consumed by a stage that is added later.
LATECOMER = stage_of(approve, name="latecomer")


async def test_provisioning_again_changes_nothing(rig: Rig) -> None:
    first = await bus.provision(rig.client, rig.settings(), stages())
    again = await bus.provision(rig.client, rig.settings(), stages())

    assert {change.action for change in first} == {"created"}
    assert {change.action for change in again} == {"unchanged"}
    assert [change.name for change in again] == [change.name for change in first]


async def test_no_message_to_a_bucket_can_empty_it(rig: Rig) -> None:
    await bus.provision(rig.client, rig.settings(), stages())

    jetstream = rig.client.jetstream()
    for bucket in (subjects.PIPELINES_BUCKET, subjects.ANSWERS_BUCKET, subjects.SESSIONS_BUCKET):
        with pytest.raises(APIError, match="rollup"):
            await jetstream.publish(f"$KV.{bucket}.x", b"", headers={"Nats-Rollup": "all"})


async def test_every_subscription_has_a_durable_for_each_lane(rig: Rig) -> None:
    await bus.provision(rig.client, rig.settings(), stages())

    wanted = {subscription.durable(lane) for stage in stages() for subscription in stage.subscriptions for lane in Lane}
    there = {info.name for info in await rig.client.jetstream().consumers_info(subjects.STREAM)}
    assert there == wanted


async def test_a_changed_ack_wait_is_applied_to_a_durable_that_exists(rig: Rig) -> None:
    await rig.provision(MODERATION, ack_wait_seconds=30, max_deliveries=8)
    event = await rig.publish(asked())

    done = await rig.provision(MODERATION, ack_wait_seconds=2, max_deliveries=3)

    config = (await rig.info("moderation-question-asked")).config
    assert done["moderation-question-asked"] == "updated"
    assert (config.ack_wait, config.max_deliver) == (2, 3)
    async with rig.worker(MODERATION):  # and it lost nothing of what waited
        await rig.event(event.correlation_id, QuestionApproved)


async def test_a_durable_with_the_metadata_of_an_older_version_is_updated(rig: Rig) -> None:
    await rig.provision(MODERATION)
    config = (await rig.info("moderation-question-asked")).config
    config.metadata = {OWNER: "durable", "stage": "moderation", "lane": "live", "heard": "question-asked"}
    await rig.client.jetstream().add_consumer(subjects.STREAM, config)
    with pytest.raises(UnavailableError, match="answerbus bus provision"):
        await overview(rig.client)

    done = await rig.provision(MODERATION)

    assert done["moderation-question-asked"] == "updated"
    assert {report.subscription for report in await overview(rig.client)} == {"question-asked"}


async def test_a_new_durable_on_an_existing_log_begins_now(rig: Rig) -> None:
    await rig.provision(MODERATION)
    before = await rig.publish(asked("Before?"))

    done = await rig.provision(MODERATION, LATECOMER)

    heard: list[str] = []

    async def listen(question: QuestionAsked) -> QuestionApproved:
        heard.append(question.text)
        return await approve(question)

    async with rig.worker(stage_of(listen, name="latecomer")):
        after = await rig.publish(asked("After?"))
        await rig.event(after.correlation_id, QuestionApproved)
    assert done["latecomer-question-asked"] == "created"
    assert heard == ["After?"]
    assert await rig.facts(before.correlation_id) == ["QuestionAsked"]


async def test_a_durable_on_a_fresh_bus_misses_nothing_said_before_its_worker_came(rig: Rig) -> None:
    await rig.provision(MODERATION)
    event = await rig.publish(asked())

    async with rig.worker(MODERATION):
        await rig.event(event.correlation_id, QuestionApproved)


async def test_a_durable_of_another_version_is_kept_for_its_workers_and_their_events(rig: Rig) -> None:
    await rig.provision(MODERATION, TRANSLATION)
    event = await rig.publish(asked())
    async with rig.worker(MODERATION):
        await rig.event(event.correlation_id, QuestionApproved)

    done = await rig.provision(MODERATION)

    assert done["translation-question-approved"] == "undeclared"
    assert (await rig.info("translation-question-approved")).num_pending == 1


async def test_events_that_wait_for_a_stage_of_another_version_do_not_hold_up_new_questions(rig: Rig) -> None:
    await rig.provision(MODERATION, LATECOMER)
    event = await rig.publish(asked())
    async with rig.worker(MODERATION):
        await rig.event(event.correlation_id, QuestionApproved)

    assert (await rig.info("latecomer-question-asked")).num_pending == 1
    assert (await live_backlog(rig.client)).oldest == {}

    await rig.publish(asked())
    assert (await live_backlog(rig.client)).oldest["moderation"] > 0.0


async def test_a_durable_of_a_stage_that_is_gone_is_removed_on_request_and_a_foreign_one_stays(rig: Rig) -> None:
    await rig.provision(MODERATION, TRANSLATION)
    foreign = ConsumerConfig(durable_name="somebody-elses", ack_policy=AckPolicy.EXPLICIT)
    await rig.client.jetstream().add_consumer(subjects.STREAM, foreign)

    done = await rig.provision(MODERATION, prune=True)

    assert done["translation-question-approved"] == "removed"
    assert done["translation-question-approved-background"] == "removed"
    with pytest.raises(NotFoundError):
        await rig.info("translation-question-approved")
    assert (await rig.info("somebody-elses")).name == "somebody-elses"


async def test_status_counts_the_log_and_names_the_remedy_before_there_is_one(rig: Rig) -> None:
    with pytest.raises(ConfigurationError, match="answerbus bus provision"):
        await bus.status(rig.client)
    await rig.provision(MODERATION)
    await rig.publish(asked())
    await rig.publish(asked())

    status = await bus.status(rig.client)

    assert (status.messages, status.last_sequence, status.dead_letters, status.durables) == (2, 2, 0, 2)


async def test_a_setting_that_the_server_refuses_is_named(rig: Rig) -> None:
    with pytest.raises(ConfigurationError, match="NATS server refused"):
        await bus.provision(rig.client, Settings(replicas=3), [])


async def test_raw_questions_disappear_after_their_time_and_other_facts_stay(rig: Rig) -> None:
    await rig.provision(MODERATION)
    event = asked()
    await rig.publisher(raw_ttl=1).publish(event)
    async with rig.worker(MODERATION):
        await rig.event(event.correlation_id, QuestionApproved)

    async def only_approved() -> bool:
        return await rig.facts(event.correlation_id) == ["QuestionApproved"]

    await until(only_approved, "the raw text expires")


async def test_a_dead_letter_of_a_raw_question_disappears_with_it_and_others_stay(rig: Rig) -> None:
    await rig.provision(MODERATION)
    publisher = rig.publisher(raw_ttl=1)
    for subject in ("qa.question.asked.{}.0", "qa.question.approved.{}.0"):
        cid = asked().correlation_id
        headers = {"Answerbus-Subject": subject.format(cid)}
        await publisher.dead_letter(subjects.dead("moderation", cid, 0), b"{}", headers)

    async def one_is_left() -> bool:
        return (await rig.client.jetstream().stream_info(subjects.DEAD_STREAM)).state.messages == 1

    await until(one_is_left, "the raw one expires")


async def test_buckets_of_an_older_version_that_cannot_forget_are_made_anew(rig: Rig) -> None:
    jetstream = rig.client.jetstream()
    for bucket in (subjects.SESSIONS_BUCKET, subjects.ANSWERS_BUCKET):
        await (await jetstream.create_key_value(bucket=bucket)).put("key", b"value")

    first = await rig.provision(MODERATION)
    second = await rig.provision(MODERATION)

    sessions = (await jetstream.stream_info(f"KV_{subjects.SESSIONS_BUCKET}")).config
    answers = (await jetstream.stream_info(f"KV_{subjects.ANSWERS_BUCKET}")).config
    assert (first["sessions"], first["answers"]) == ("updated", "updated")
    assert (second["sessions"], second["answers"]) == ("unchanged", "unchanged")
    assert (sessions.storage, answers.storage) == (StorageType.MEMORY, StorageType.FILE)
    assert not sessions.deny_delete
    assert not answers.deny_delete
