"""Which variables are removed and set, so that libraries send nothing by themselves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shared.observability.library_telemetry import OPT_OUTS, turn_off
from tests.support.table import table


@table(
    "name",
    [
        "LANGSMITH_TRACING",
        "LANGSMITH_TRACING_V2",
        "langsmith_tracing",
        "LANGSMITH_TRACING_SAMPLING_RATE",
        "LANGSMITH_OTEL_ENABLED",
        "LANGSMITH_OTEL_ONLY",
        "LANGCHAIN_TRACING",
        "LANGCHAIN_TRACING_V2",
        "LANGCHAIN_WANDB_TRACING",
        "LANGCHAIN_COMET_TRACING",
        "LANGCHAIN_HANDLER",
        "LANGCHAIN_DEBUG",
        "LANGCHAIN_VERBOSE",
    ],
)
def test_variable_that_makes_langchain_send_or_print_texts_is_removed(name: str) -> None:
    environment = {name: "true"}
    turn_off(environment)
    assert name not in environment


@table("name", OPT_OUTS)
def test_opt_out_is_set_whatever_stood_there(name: str) -> None:
    environment = {name: "something else"}
    turn_off(environment)
    assert environment[name] == OPT_OUTS[name]


@pytest.mark.parametrize(
    "name",
    [
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_BSP_SCHEDULE_DELAY",
        "OPENAI_API_KEY",
        "LANGSMITH_API_KEY",
        "LANGFUSE_PUBLIC_KEY",
        "ANSWERBUS_OTLP_ENDPOINT",
        "HF_HOME",
        "HTTPS_PROXY",
    ],
)
def test_settings_of_the_operator_stay(name: str) -> None:
    environment = {name: "value"}
    turn_off(environment)
    assert environment[name] == "value"


@pytest.mark.parametrize(
    "module", ["shared.llm.ports", "services.answer.app", "cli.host.up", "channels.program", "shared.language.analysis"]
)
def test_module_that_a_process_starts_with_turns_it_off(module: str) -> None:
    program = f"import {module}, os; print(os.environ.get('LANGSMITH_TRACING'), os.environ['DO_NOT_TRACK'])"
    environment = {**os.environ, "LANGSMITH_TRACING": "true", "DO_NOT_TRACK": "0"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["None", "1"]
