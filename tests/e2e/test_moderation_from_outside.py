"""Moderation as it is seen over HTTP: who is in danger hears at once, and what was masked is nowhere."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.platform import Platform, cli, running
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

MAIL = "zebulon.quaint@example.org"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running(tmp_path_factory.mktemp("moderation")) as one:
        yield one


@pytest.fixture(scope="module")
def http(platform: Platform) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=platform.url, timeout=30, trust_env=False) as client:
        yield client


def asked(http: httpx.Client, question: str, **fields: Any) -> dict[str, Any]:
    response = http.post("/api/v1/query", json={"question": question, **fields})
    response.raise_for_status()
    done: dict[str, Any] = response.json()
    return done


def test_somebody_in_danger_hears_of_help_within_a_tenth_of_a_second(http: httpx.Client) -> None:
    took = []
    for _ in range(10):  # the machine may be busy; what counts is what the chain needs
        began = time.perf_counter()
        done = asked(http, "fuck it, I want to die", language="en-CA")
        took.append(time.perf_counter() - began)

    answer = done["result"]["answer"]
    assert answer["type"] == "emergency"
    assert [link["url"] for link in answer["links"]][:2] == ["tel:911", "tel:988"]
    assert min(took) < limit(0.1), took


def test_danger_in_french_is_answered_in_french(http: httpx.Client) -> None:
    answer = asked(http, "je veux mourir", client={"region": "FR"})["result"]["answer"]

    assert answer["content"].startswith("Il semble")
    assert "tel:3114" in [link["url"] for link in answer["links"]]


def test_a_greeting_gets_a_friendly_line(http: httpx.Client) -> None:
    result = asked(http, "Hello!")["result"]

    assert result["answer"]["content"] == "Hello! What would you like to know?"
    assert result["rejection"] == {"kind": "not_a_question", "reply": True}


def test_what_was_masked_is_in_no_later_fact_record_or_log(platform: Platform, http: httpx.Client) -> None:
    done = asked(http, f"Why did nobody answer my mail from {MAIL} last week?")
    shown = cli("events", "show", done["id"], "--url", platform.url, "--json")
    events = {event["fact"]: json.dumps(event) for event in json.loads(shown.stdout)}

    assert done["result"]["rejection"]["kind"] == "pii"
    assert MAIL not in json.dumps(done)
    assert {fact for fact, text in events.items() if MAIL in text} <= {"QuestionAsked"}
    recorded = http.get(f"/api/v1/questions/{done['id']}")
    assert MAIL not in recorded.text
    kept = [path for path in Path(platform.data, "record").rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if MAIL.encode() in path.read_bytes()] == []
