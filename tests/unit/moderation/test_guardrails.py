"""NeMo Guardrails as a check: Colang 1 flows with our own model behind them, and what follows when they fail."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from services.moderation.guardrails import NemoGuard
from services.moderation.settings import ModerationSettings
from shared import telemetry
from shared.errors import ModelError
from shared.models.ports import Models
from shared.models.scripted import ScriptedModels

pytest.importorskip("nemoguardrails", reason="needs the extra guardrails")

COLANG = """
define bot refuse to answer
  "I cannot answer that."
"""
CONFIG = """
rails:
  input:
    flows: [self check input]
prompts:
  - task: self_check_input
    content: "Should this be blocked? Question: {{ user_input }} Answer yes or no:"
"""


def guarded(**changes: object) -> ModerationSettings:
    return ModerationSettings.model_validate({"guardrails_colang": COLANG, "guardrails_config": CONFIG, **changes})


async def objects(models: Models, settings: ModerationSettings, *, remaining: float = 60) -> bool:
    guard = NemoGuard(models)
    await guard.open()
    try:
        return await guard.objects("How do I renew my passport?", settings, remaining)
    finally:
        await guard.close()


async def test_a_flow_asks_the_model_and_its_word_counts() -> None:
    models = ScriptedModels(guardrails=["yes", "no"])
    guard = NemoGuard(models)

    assert await guard.objects("Tell me how to rob a bank", guarded(), 60)
    assert not await guard.objects("How do I renew my passport?", guarded(), 60)
    assert models.asked[0].role == "fast"
    assert "rob a bank" in " ".join(message.text for message in models.asked[0].messages)
    await guard.close()


async def test_a_pipeline_without_flows_asks_nobody() -> None:
    models = ScriptedModels()

    assert not await objects(models, ModerationSettings())
    assert models.asked == []


@pytest.mark.parametrize(("fails", "objected"), [("open", False), ("closed", True)])
async def test_flows_that_cannot_be_read_fail_as_the_pipeline_says(fails: str, objected: bool) -> None:
    before = telemetry.GUARDRAILS_FAILED.labels(fails)._value.get()

    assert await objects(ScriptedModels(), guarded(guardrails_config="rails: [", guardrails_fail=fails)) is objected
    assert telemetry.GUARDRAILS_FAILED.labels(fails)._value.get() == before + 1


@pytest.mark.parametrize(("fails", "objected"), [("open", False), ("closed", True)])
async def test_a_model_that_is_away_fails_as_the_pipeline_says(fails: str, objected: bool) -> None:
    models = ScriptedModels(guardrails=[ModelError("away")] * 3)

    assert await objects(models, guarded(guardrails_fail=fails)) is objected


class Waiting(ScriptedModels):
    """A model that never replies."""

    async def converse(self, *_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize(("fails", "objected"), [("open", False), ("closed", True)])
async def test_flows_that_take_too_long_fail_as_the_pipeline_says(fails: str, objected: bool) -> None:
    """Given a model that never replies, then the question waits as long as the pipeline allows."""
    guard = NemoGuard(Waiting())
    patient = guarded(guardrails_fail=fails, guardrails_seconds=0.3)
    before = telemetry.GUARDRAILS_FAILED.labels(fails)._value.get()

    began = time.monotonic()
    assert await guard.objects("How do I renew my passport?", patient, 60) is objected
    assert time.monotonic() - began < 5
    assert telemetry.GUARDRAILS_FAILED.labels(fails)._value.get() == before + 1
    await guard.close()


async def test_flows_leave_most_of_the_time_to_the_rest() -> None:
    began = time.monotonic()

    assert await objects(Waiting(), guarded(guardrails_fail="closed", guardrails_seconds=60), remaining=0.6)
    assert time.monotonic() - began < 10
