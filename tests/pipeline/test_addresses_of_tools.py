"""An agent fetches only addresses that were read: over HTTP, with every stage and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from shared.runtime.settings import Settings
from tests.support.judged import Script, platform, result_of
from tests.support.model_server import Scripted, ScriptedReply

ANSWER = {"engine": "agent", "uncited": True, "tool_seconds": 60}
SECTIONS: dict[str, dict[str, Any]] = {"gateway": {"deadline_seconds": 300}, "verifier": {"judge": False}}
PAGE = b"Opening hours are at nine. Next: http://127.0.0.1:%d/next"


@pytest.fixture
async def site() -> AsyncIterator[tuple[str, list[str]]]:
    """A web server, and the paths that were fetched from it."""
    fetched: list[str] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fetched.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode())
        body = PAGE % port
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", fetched
    server.close()


def fetch(url: str, tool: str = "download_web_page") -> ScriptedReply:
    return ScriptedReply(calls=((tool, {"url": url}),))


async def outcome(folder: Path, question: str, *said: Scripted, **answer: Any) -> tuple[dict[str, Any], Script]:
    script = Script([*said, "<answer>Done.</answer>"])
    settings = Settings(data_dir=folder, port=0, web_inside=("127.0.0.1",))
    async with platform(folder, script, settings=settings, answer={**ANSWER, **answer}, **SECTIONS) as (_, client):
        return await result_of(client, question), script


async def test_an_address_made_of_what_the_model_knows_is_not_fetched(
    tmp_path: Path, site: tuple[str, list[str]]
) -> None:
    url, fetched = site
    question = f"What is the rent of a garden plot, and is {url}/page a good page?"
    made_up = f"{url}/page?asker=zoe"
    result, script = await outcome(tmp_path, question, fetch(made_up), fetch(made_up, "check_url_status"))

    assert [(call["tool"], call["ok"]) for call in result["tool_calls"]] == [
        ("download_web_page", False),
        ("check_url_status", False),
    ]
    assert "in no passage" in result["tool_calls"][0]["fault"]
    assert "exactly as it is written" in str(script.answered[1].messages)
    assert fetched == []


async def test_addresses_of_the_question_and_of_earlier_results_are_fetched(
    tmp_path: Path, site: tuple[str, list[str]]
) -> None:
    url, fetched = site
    result, _ = await outcome(tmp_path, f"What does {url}/page say?", fetch(f"{url}/page"), fetch(f"{url}/next"))

    assert [call["ok"] for call in result["tool_calls"]] == [True, True]
    assert fetched == ["/page", "/next"]


async def test_any_address_of_a_host_that_the_pipeline_allows_is_fetched(
    tmp_path: Path, site: tuple[str, list[str]]
) -> None:
    url, fetched = site
    result, _ = await outcome(tmp_path, "What do you know?", fetch(f"{url}/other"), web_allow=["127.0.0.1"])

    assert [call["ok"] for call in result["tool_calls"]] == [True]
    assert fetched == ["/other"]
