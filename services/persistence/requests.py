"""What persistence answers when it is asked: the record's verbs and the directory's."""

from __future__ import annotations

from services.persistence.directory import Directory
from services.persistence.ports import Catalogue, Record
from services.persistence.record_pages import Browser
from services.persistence.record_queries import Archivist
from shared.contracts.stage import Stage


def of_record(stage: Stage, record: Record) -> None:
    archivist, browser = Archivist(record), Browser(record)
    stage.on_request(archivist.conversation)
    stage.on_request(archivist.exchange)
    stage.on_request(browser.exchanges)
    stage.on_request(browser.export)
    stage.on_request(archivist.stats)


def of_directory(stage: Stage, catalogue: Catalogue) -> None:
    directory = Directory(catalogue)
    stage.on_request(directory.experts)
    stage.on_request(directory.availability)
    stage.on_request(directory.book)
    stage.on_request(directory.content)
    stage.on_request(directory.load)
    stage.on_request(directory.overview)
