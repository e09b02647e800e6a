"""Wires persistence: the record where `ANSWERBUS_RECORD_URL` says, the sessions in their bucket."""

from __future__ import annotations

import uuid

from services.persistence.access import ACCESS
from services.persistence.adapters import SqlRecord
from services.persistence.asks import Archivist
from services.persistence.directory import Directory
from services.persistence.directory_adapter import SqlCatalogue
from services.persistence.handler import Recorder
from services.persistence.reuse import AnswerShelf
from services.persistence.settings import PersistenceSettings
from services.persistence.summary import Summaries
from services.persistence.watch import DeadlineWatch
from services.persistence.watch_adapter import SqlBook
from shared import subjects
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:
    record = SqlRecord(resources.settings.database_url)
    answers = resources.stores.key_value(subjects.ANSWERS_BUCKET)
    shelf = AnswerShelf(answers)
    summaries = Summaries(resources.stores.key_value(subjects.SESSIONS_BUCKET), resources.models)
    recorder = Recorder(record, summaries, shelf)
    archivist = Archivist(record)
    directory = Directory(SqlCatalogue(record))

    # Many at once: whatever waits together is committed together.
    stage = Stage("persistence", buries_undelivered=True, settings=PersistenceSettings, concurrency=128, access=ACCESS)
    stage.opens(record)
    stage.opens(summaries)
    stage.opens(_deadline_watch(resources, record))
    for handler in (recorder.record, recorder.feedback, recorder.evaluated, recorder.indexed, recorder.refused):
        stage.on(handler)
    stage.answers("conversation", archivist.conversation)
    stage.answers("exchange", archivist.exchange)
    stage.answers("stats", archivist.stats)
    stage.answers("experts", directory.experts)
    stage.answers("availability", directory.availability)
    stage.answers("book", directory.book)
    stage.answers("content", directory.content)
    stage.answers("load_directory", directory.load)
    stage.answers("directory", directory.overview)
    return stage


def _deadline_watch(resources: Resources, record: SqlRecord) -> DeadlineWatch:
    notes = resources.stores.key_value(subjects.SESSIONS_BUCKET)
    return DeadlineWatch(uuid.uuid4().hex, resources.log, SqlBook(record), resources.facts("persistence"), notes)


if __name__ == "__main__":
    from shared.worker import run

    run(build)
