"""Wires persistence: the record where `ANSWERBUS_RECORD_URL` says, the sessions in their bucket."""

from __future__ import annotations

import uuid

from services.persistence import verbs
from services.persistence.access import ACCESS
from services.persistence.adapters import SqlRecord
from services.persistence.directory_adapter import SqlCatalogue
from services.persistence.expiry import Expiry
from services.persistence.forgetting_adapter import forgetting_of
from services.persistence.handler import Recorder
from services.persistence.metering import meter
from services.persistence.reuse import AnswerShelf
from services.persistence.settings import PersistenceSettings
from services.persistence.summary import Summaries
from services.persistence.watch import DeadlineWatch
from services.persistence.watch_adapter import SqlBook
from shared import subjects
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:
    record = SqlRecord(resources.settings.database_url, meter)
    answers = resources.stores.key_value(subjects.ANSWERS_BUCKET)
    shelf = AnswerShelf(answers)
    sessions = resources.stores.key_value(subjects.SESSIONS_BUCKET)
    summaries = Summaries(sessions, resources.models)
    forgetting, sweeper = forgetting_of(resources, record, sessions, answers)
    recorder = Recorder(record, summaries, shelf, forgetting.late)

    # Many at once: whatever waits together is committed together.
    stage = Stage("persistence", buries_undelivered=True, settings=PersistenceSettings, concurrency=128, access=ACCESS)
    stage.opens(record)
    stage.opens(Expiry(record, resources.settings.record_days))
    stage.opens(summaries)
    stage.opens(_deadline_watch(resources, record))
    stage.opens(sweeper)
    for handler in (recorder.record, recorder.feedback, recorder.evaluated, recorder.indexed, recorder.refused):
        stage.on(handler)
    stage.on(forgetting.requested, concurrency=1)
    stage.on(forgetting.go_on, concurrency=1)
    verbs.of_record(stage, record)
    verbs.of_directory(stage, SqlCatalogue(record))
    return stage


def _deadline_watch(resources: Resources, record: SqlRecord) -> DeadlineWatch:
    notes = resources.stores.key_value(subjects.SESSIONS_BUCKET)
    return DeadlineWatch(uuid.uuid4().hex, resources.log, SqlBook(record), resources.facts("persistence"), notes)


if __name__ == "__main__":
    from shared.worker import run

    run(build)
