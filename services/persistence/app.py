"""Wires persistence: the record where `ANSWERBUS_RECORD_URL` says, the sessions in their bucket."""

from __future__ import annotations

import uuid

from services.persistence import requests
from services.persistence.access import ACCESS
from services.persistence.adapters import SqlRecord
from services.persistence.answer_cache import AnswerShelf
from services.persistence.conversation_summary import Summaries
from services.persistence.deadline_monitor import DeadlineWatch
from services.persistence.deadline_monitor_adapter import SqlBook
from services.persistence.directory_adapter import SqlCatalogue
from services.persistence.erasure_adapter import forgetting_of
from services.persistence.expiry import Expiry
from services.persistence.handler import Recorder
from services.persistence.record_metrics import meter
from services.persistence.settings import PersistenceSettings
from shared.contracts import subjects
from shared.contracts.stage import Stage
from shared.runtime.context import StageContext


def build(context: StageContext) -> Stage:
    record = SqlRecord(context.settings.database_url, meter)
    answers = context.stores.key_value(subjects.ANSWERS_BUCKET)
    shelf = AnswerShelf(answers)
    sessions = context.stores.key_value(subjects.SESSIONS_BUCKET)
    summaries = Summaries(sessions, context.models)
    forgetting, sweeper = forgetting_of(context, record, sessions, answers)
    recorder = Recorder(record, summaries, shelf, forgetting.late)

    # Many at once: whatever waits together is committed together.
    stage = Stage(
        "persistence", handles_max_deliveries=True, settings=PersistenceSettings, concurrency=128, access=ACCESS
    )
    stage.opens(record)
    stage.opens(Expiry(record, context.settings.record_days))
    stage.opens(summaries)
    stage.opens(_deadline_watch(context, record))
    stage.opens(sweeper)
    for handler in (recorder.record, recorder.feedback, recorder.evaluated, recorder.indexed, recorder.refused):
        stage.on(handler)
    stage.on(forgetting.requested, concurrency=1)
    stage.on(forgetting.go_on, concurrency=1)
    requests.of_record(stage, record)
    requests.of_directory(stage, SqlCatalogue(record))
    return stage


def _deadline_watch(context: StageContext, record: SqlRecord) -> DeadlineWatch:
    notes = context.stores.key_value(subjects.SESSIONS_BUCKET)
    return DeadlineWatch(uuid.uuid4().hex, context.log, SqlBook(record), context.facts("persistence"), notes)


if __name__ == "__main__":
    from shared.runtime.worker import run

    run(build)
