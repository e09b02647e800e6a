"""The messages and emergency services that a pipeline can replace, by kind or region, and language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from shared.contracts.facts import RejectionKind
from shared.language.messages import MESSAGES, by_language
from shared.language.packs import once


def _message(kind: str) -> dict[str, str]:
    return by_language(lambda texts: texts.rejections.get(kind))


def _helplines(region: str) -> list[dict[str, object]]:
    """The addresses of a region with their titles by language."""
    addresses = once(texts.helplines.get(region, ()) for texts in MESSAGES.values())
    return [{"url": url, "title": _title(region, url)} for url in addresses]


def _title(region: str, url: str) -> dict[str, str]:
    return by_language(lambda texts: texts.helplines.get(region, {}).get(url))


#: Rejection kind, or `greeting`, `thanks`, `emergency`, `help` -> language -> message to the asker.
DEFAULT_MESSAGES = {kind: _message(kind) for kind in once(texts.rejections for texts in MESSAGES.values())}


def check_messages(messages: Mapping[str, Mapping[str, str]]) -> None:
    """Checks that every kind of rejection has a message in English.

    Raises:
        TypeError: some have none; raised when this module is imported.
    """
    missing = [kind for kind in get_args(RejectionKind) if not messages.get(kind, {}).get("en")]
    if missing:
        raise TypeError(f"DEFAULT_MESSAGES has no English message for: {', '.join(missing)}")


check_messages(DEFAULT_MESSAGES)

#: Region (ISO 3166, `any` elsewhere) -> services for people in danger: address and title by language.
DEFAULT_RESOURCES = {region: _helplines(region) for region in once(texts.helplines for texts in MESSAGES.values())}
