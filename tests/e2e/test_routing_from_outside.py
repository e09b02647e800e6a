"""Questions without a pipeline on a running platform: profiles are applied, the model chooses, events tell of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.model_server import Asked, ModelServer, Scripted
from tests.support.platform import cli, running
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

FRONT = """\
name: default
gateway:
  deadline_seconds: 120
  routing:
    by: [rules, model]
    model_seconds: 30
    classes:
      booking: {pipeline: desk, description: Wants an appointment., phrases: [make an appointment]}
      hours: {pipeline: desk.brief, description: Asks when something is open.}
moderation: {gate: false}
answer: {engine: extractive}
"""
DESK = """\
name: desk
description: The front desk.
gateway: {deadline_seconds: 120}
answer: {engine: extractive}
profiles:
  brief:
    description: The front desk, in one sentence.
    answer: {max_sentences: 1}
"""


def answered(asked: Asked) -> Scripted:
    return {"question_class": "hours" if "open" in asked.user else "none", "confidence": 0.95}


def test_questions_are_routed_by_phrase_and_by_model_to_a_pipeline_and_to_a_profile(tmp_path: Path) -> None:
    folders = []
    for name, text in (("default", FRONT), ("desk", DESK)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pipeline.yaml").write_text(text)
        folders.append(str(tmp_path / name))
    with ModelServer(answered) as models:
        endpoint = {"name": "small", "model": "small", "base_url": models.url, "api_key": "sk-test"}
        configured = {"endpoints": [endpoint], "roles": {"fast": ["small"]}}
        env = {"ANSWERBUS_MODELS": json.dumps(configured)}
        with running(tmp_path / "data", "--in-process", env=env) as up:
            missing = cli("pipelines", "apply", folders[0], "--data", str(up.data))
            assert missing.returncode == 1
            assert "there is no pipeline 'desk'" in missing.stderr
            applied = cli("pipelines", "apply", *folders, "--data", str(up.data))
            assert applied.returncode == 0, applied.stderr
            told = {
                question: ask(up.url, question)
                for question in ("I want to make an appointment", "When is the desk open?", "Who built the bridge?")
            }
            shown = cli("events", "show", told["When is the desk open?"]["id"], "--url", up.url)
            with httpx.Client(base_url=up.url, timeout=60, trust_env=False) as http:
                listed = {one["name"]: one["description"] for one in http.get("/api/v1/pipelines").json()}
                metrics = http.get("/metrics").text

    assert [(one["pipeline"]["name"], one["result"]["route"]["by"]) for one in told.values()] == [
        ("desk", "rules"),
        ("desk.brief", "model"),
        ("default", "default"),
    ]
    assert listed["desk.brief"] == "The front desk, in one sentence."
    assert "routed from default by model (class hours, confidence 0.95)" in " ".join(shown.stdout.split())
    row = 'answerbus_routed_total{by="model",entry="default",pipeline="desk.brief",question_class="hours"} 1.0'
    assert row in metrics


def ask(url: str, question: str) -> dict[str, Any]:
    with httpx.Client(base_url=url, timeout=limit(60), trust_env=False) as http:
        body: dict[str, Any] = http.post("/api/v1/query", json={"question": question}).raise_for_status().json()
    return body
