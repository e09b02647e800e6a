"""What leaves the machine while the environment asks every library that is known for it to report: nothing."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cli.host.catalogue import STAGES
from tests.support.model_server import Asked, ModelServer, Scripted
from tests.support.platform import ROOT, cli, running, write_corpus
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

CODEWORD = "plughxyzzy"
#: What a prompt of the guardrails of `research` contains.
GUARDRAIL = "Does the message break the policy?"
#: Pipelines that send questions to models in every stage: rewriting, guardrails, tools and agents, judges, translation.
PIPELINES = ("default", "research", "support", "government")


class Listener:
    """Accepts every connection, answers 200 to whatever comes, and keeps it."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            while data := connection.recv(65536):
                self.received.append(data)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    listening.close()


def reporting(to: Listener) -> dict[str, str]:
    """Variables that make libraries report, all to the listener; it is also the proxy of what goes to other hosts."""
    url = to.url
    switches = [
        "LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2",
        "LANGSMITH_OTEL_ENABLED",
        "LANGCHAIN_VERBOSE", "LANGFUSE_TRACING_ENABLED", "LANGCHAIN_WANDB_TRACING", "CREWAI_TRACING_ENABLED",
        "CREWAI_TELEMETRY", "TRACELOOP_TELEMETRY", "OPENAI_AGENTS_TRACING", "ANONYMIZED_TELEMETRY",
        "OTEL_PYTHON_AUTO_INSTRUMENTATION_EXPERIMENTAL_GEVENT_PATCH",
    ]  # fmt: skip
    addresses = [
        "LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT", "LANGFUSE_HOST", "LANGFUSE_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "HF_ENDPOINT", "NEMO_GUARDRAILS_USAGE_STATS_SERVER", "POSTHOG_HOST", "TRACELOOP_BASE_URL", "OPENAI_API_BASE",
        "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy",
    ]  # fmt: skip
    keys = [
        "LANGSMITH_API_KEY",
        "LANGCHAIN_API_KEY",
        "LANGFUSE_PUBLIC_KEY",
        "LANGFUSE_SECRET_KEY",
        "HF_TOKEN",
        "POSTHOG_API_KEY",
    ]
    return {
        **dict.fromkeys(switches, "true"),
        **dict.fromkeys(addresses, url),
        **dict.fromkeys(keys, "x"),
        "SENTRY_DSN": f"http://x@{to.host}/1",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        "DO_NOT_TRACK": "0",
        "HF_HUB_DISABLE_TELEMETRY": "0",
        "NEMO_GUARDRAILS_NO_USAGE_STATS": "0",
        "NEMO_GUARDRAILS_HEARTBEAT_INTERVAL_S": "1",
        # What a build sets would keep libraries from reporting by itself.
        "CI": "",
        "PYTEST_CURRENT_TEST": "",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def _script(asked: Asked) -> Scripted:
    return "<answer><s-1>The rent of a garden plot is forty euros. [1]</s-1></answer>" if asked.streams else None


def _ask(url: str, pipeline: str) -> None:
    body = {"question": f"What is the rent of a garden plot, {CODEWORD} or not, please?", "pipeline": pipeline}
    asked = httpx.post(f"{url}/api/v1/query", json=body, timeout=limit(150), trust_env=False)
    assert asked.status_code == 200, asked.text


def test_nothing_is_reported_by_libraries_whatever_the_environment_says(tmp_path: Path, listener: Listener) -> None:
    with ModelServer(_script) as models:
        environment = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": models.url, **reporting(listener)}
        with running(tmp_path / "data", env=environment) as up:
            for name in PIPELINES[1:]:
                applied = cli("pipelines", "apply", str(ROOT / "deploy/pipelines" / name), "--data", str(up.data))
                assert applied.returncode == 0, applied.stderr
            corpus = str(write_corpus(tmp_path / "corpus"))
            ingested = cli("ingest", corpus, "--url", up.url, env=reporting(listener))
            assert ingested.returncode == 0, ingested.stderr
            for name in PIPELINES:
                _ask(up.url, name)
            # Its guardrails are built in the background, and guard the questions after that.
            until = time.monotonic() + limit(120)
            while not any(GUARDRAIL in asked.user for asked in models.asked):
                assert time.monotonic() < until, "the guardrails asked no model"
                _ask(up.url, "research")
            assert all(up.worker(stage) for stage in STAGES)

    in_prompts = [asked for asked in models.asked if CODEWORD in str(asked.body)]
    assert len(in_prompts) > len(PIPELINES), "the models were asked"
    assert listener.received == []


def test_listener_hears_what_a_library_reports_when_nothing_turns_it_off(listener: Listener) -> None:
    """The measuring device works: LangChain alone, without the platform, reports a prompt."""
    program = (
        "from langchain_core.language_models.fake_chat_models import FakeListChatModel as M;"
        f"M(responses=['x']).invoke('{CODEWORD}');"
        "from langchain_core.tracers.langchain import wait_for_all_tracers as w; w()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **reporting(listener)}, timeout=limit(60), check=False
    )
    assert ran.returncode == 0
    assert any(b"/runs" in data for data in listener.received)
