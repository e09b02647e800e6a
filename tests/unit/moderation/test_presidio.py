"""Presidio beside the built-in patterns: blank pipelines, loaded when first asked for, without the network."""

from __future__ import annotations

import socket

import pytest

from services.moderation.adapters import PresidioPrivateData
from services.moderation.settings import ModerationSettings

pytest.importorskip("presidio_analyzer", reason="needs the extra pii")

TEXT = (
    "My social security number is 514-69-0360, mail UtaKortig@jourrapide.com, card 4111 1111 1111 1111, "
    "from 86.231.85.193, account GB82WEST12345698765432."
)


async def test_it_finds_the_formats_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it went to the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    engine = PresidioPrivateData()

    spans = await engine.spans(TEXT, ModerationSettings(pii_engine="presidio"))
    await engine.close()

    assert {span.kind for span in spans} >= {"ssn", "email", "card", "ip", "iban"}
    assert "514-69-0360" in {TEXT[span.start : span.end] for span in spans}


async def test_it_is_not_loaded_for_a_pipeline_that_does_not_ask_for_it() -> None:
    engine = PresidioPrivateData()

    assert await engine.spans(TEXT, ModerationSettings()) == ()
    assert engine._loading is None
