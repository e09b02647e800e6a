"""What persistence answers when it is asked: the record's verbs and the directory's."""

from __future__ import annotations

from services.persistence.asks import Archivist
from services.persistence.browse import Browser
from services.persistence.directory import Directory
from services.persistence.ports import Catalogue, Record
from shared.stage import Stage


def of_record(stage: Stage, record: Record) -> None:
    archivist, browser = Archivist(record), Browser(record)
    stage.answers("conversation", archivist.conversation)
    stage.answers("exchange", archivist.exchange)
    stage.answers("exchanges", browser.exchanges)
    stage.answers("export", browser.export)
    stage.answers("stats", archivist.stats)


def of_directory(stage: Stage, catalogue: Catalogue) -> None:
    directory = Directory(catalogue)
    stage.answers("experts", directory.experts)
    stage.answers("availability", directory.availability)
    stage.answers("book", directory.book)
    stage.answers("content", directory.content)
    stage.answers("load_directory", directory.load)
    stage.answers("directory", directory.overview)
