"""`answerbus doctor` says who plays each role, and whether each endpoint answers, without spending tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.operations.doctor import examine
from cli.operations.machine_check import MachineCheck
from shared.runtime.settings import Settings
from tests.support.model_server import ModelServer
from tests.support.servers import free_port


async def found(tmp_path: Path, **models: Any) -> dict[str, MachineCheck]:
    """What is found about models, by what it is about."""
    given = json.dumps(models) if models else ""
    settings = Settings(data_dir=tmp_path, nats_url=f"nats://127.0.0.1:{free_port()}", port=0, models=given)
    return {one.check: one for one in await examine(settings) if one.check.startswith(("model", "endpoint"))}


async def test_endpoints_are_asked_whether_they_answer(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    with ModelServer() as server:
        endpoints = [
            {"name": "up", "base_url": server.url, "model": "m", "api_key": "secret-key-1234"},
            {"name": "down", "base_url": nobody, "model": "m"},
        ]
        roles = {"fast": ["up", "down"], "main": ["down"]}
        findings = await found(tmp_path, endpoints=endpoints, roles=roles)

    assert findings["model roles"].detail == "fast: up, then down; main: down"
    assert (findings["endpoint up"].verdict, findings["endpoint down"].verdict) == ("ok", "warn")
    assert [asked.path for asked in server.asked] == ["/v1/models"]
    assert "secret-key-1234" not in str(findings)


async def test_without_models_every_step_keeps_to_its_rule(tmp_path: Path) -> None:
    findings = await found(tmp_path)

    assert list(findings) == ["model roles"]
    assert "rule" in findings["model roles"].detail
