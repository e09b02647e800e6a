"""Channels from end to end: stand-ins of Slack and Telegram, a webhook, and the real gateway with its stages.

The libraries of the platforms are the real ones; only the addresses of the APIs are local.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from aiohttp import web

from channels.program import ChannelProgram
from channels.settings import ChannelConfig
from shared.contracts.errors import ConfigurationError
from shared.contracts.facts import FeedbackGiven, QuestionAsked, QuestionWithdrawn
from tests.support.chat_servers import (
    SLACK_SECRET,
    SLACK_TOKEN,
    TELEGRAM_SECRET,
    TELEGRAM_TOKEN,
    WEBHOOK_SECRET,
    ChatServer,
    post_raw,
    post_signed,
    slack_event,
    slack_headers,
    slack_server,
    telegram_message,
    telegram_server,
    webhook_receiver,
)
from tests.support.faces import KEYS, Faces, running_faces
from tests.support.platform import ANSWERBUS
from tests.support.servers import free_port
from tests.support.speed import limit

pytestmark = pytest.mark.asyncio(loop_scope="module")

RENT = "What is the rent of a garden plot?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faces(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faces]:
    async with running_faces(tmp_path_factory.mktemp("channels"), cache="off") as running:
        yield running


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GATEWAY_KEY": KEYS["web"][1],
        "SLACK_BOT_TOKEN": SLACK_TOKEN,
        "SLACK_SIGNING_SECRET": SLACK_SECRET,
        "TELEGRAM_BOT_TOKEN": TELEGRAM_TOKEN,
        "TELEGRAM_WEBHOOK_SECRET": TELEGRAM_SECRET,
        "WEBHOOK_SECRET": WEBHOOK_SECRET,
    }.items():
        monkeypatch.setenv(name, value)


@contextlib.asynccontextmanager
async def adapter(faces: Faces, **channel: Any) -> AsyncIterator[str]:
    """The adapter with one channel named `test`; yields the address where its platform posts."""
    config = ChannelConfig.model_validate(
        {
            "gateway": {"url": faces.url, "api_key_env": "GATEWAY_KEY"},
            "http": {"port": 0},
            "channels": [{"name": "test", "quiet_seconds": 0, **channel}],
        }
    )
    program = ChannelProgram(config)
    try:
        await program.open()
        yield f"http://127.0.0.1:{program.port}/{channel['platform']}/test"
    finally:
        await program.close()


def asked(faces: Faces) -> list[str]:
    stored = (one.decode().payload for one in faces.bus.log.stored)
    return [one.text for one in stored if isinstance(one, QuestionAsked)]


async def until(done: Callable[[], object]) -> None:
    """Wait until it is true."""
    async with asyncio.timeout(limit(60)):
        while not done():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def slack(server: ChatServer, **more: Any) -> dict[str, Any]:
    return {"platform": "slack", "api_url": f"{server.url}/api/", "pace_seconds": 0, **more}


def telegram(server: ChatServer, **more: Any) -> dict[str, Any]:
    return {"platform": "telegram", "api_url": server.url, "pace_seconds": 0, **more}


def webhook(server: ChatServer, **more: Any) -> dict[str, Any]:
    return {"platform": "webhook", "url": server.url, "secret_env": "WEBHOOK_SECRET", "inside": ["127.0.0.1"], **more}


async def test_a_mention_in_slack_is_answered_in_a_thread_with_its_sources(faces: Faces) -> None:
    body = slack_event(
        {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "1.1",
         "text": f"<@UBOT> {RENT}"}
    )  # fmt: skip
    async with slack_server() as server, adapter(faces, **slack(server)) as url:
        for retry in ({}, {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}):
            assert (await post_raw(url, body, slack_headers(body) | retry)).status_code == 200
        await server.until(lambda: server.named("chat.postMessage"))

        (posted,) = server.named("chat.postMessage")
        assert posted["channel"] == "C1"
        assert posted["thread_ts"] == "1.1"
        assert "forty euros" in posted["text"]
        assert "[1]" in posted["text"]
        assert posted["text"].endswith("[1] Community garden")
    assert asked(faces)[-1] == RENT
    assert asked(faces).count(RENT) == 1


async def test_slack_must_sign_what_it_posts(faces: Faces) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c-1"}).encode()
    async with slack_server() as server, adapter(faces, **slack(server)) as url:
        verified = await post_raw(url, body, slack_headers(body))
        for headers in ({}, slack_headers(body, at=1), slack_headers(body, secret="other"), slack_headers(b"other")):
            assert (await post_raw(url, body, headers)).status_code == 401
        broken = slack_headers(body) | {"X-Slack-Request-Timestamp": "soon"}
        assert (await post_raw(url, body, broken)).status_code == 401

    assert verified.json() == {"challenge": "c-1"}


async def test_slack_is_given_the_time_that_it_asks_for(faces: Faces) -> None:
    async with slack_server() as server, adapter(faces, **slack(server, indicator="none")) as url:
        server.replies["chat.postMessage"] = [
            web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": "0"}),
            web.json_response({"ok": False, "error": "internal_error"}, status=200),
        ]
        body = slack_event({"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "ts": "1.1",
                            "text": RENT})  # fmt: skip
        await post_raw(url, body, slack_headers(body))
        await server.until(lambda: len(server.named("chat.postMessage")) == 3)

        texts = {one["text"] for one in server.named("chat.postMessage")}
        assert len(texts) == 1


async def test_a_thumb_in_slack_is_feedback(faces: Faces) -> None:
    async with slack_server() as server, adapter(faces, **slack(server, indicator="none")) as url:
        message = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "ts": "2.1", "text": RENT}
        await post_raw(url, body := slack_event(message, "Ev2"), slack_headers(body))
        await server.until(lambda: server.named("chat.postMessage"))
        # The reply of `chat.postMessage` is on its way back; the next exchange of the conversation begins after it.
        again = message | {"ts": "2.2", "text": f"{RENT} Again."}
        await post_raw(url, body := slack_event(again, "Ev3"), slack_headers(body))
        await server.until(lambda: len(server.named("chat.postMessage")) == 2)
        item = {"type": "message", "channel": "D1", "ts": "2000.000001"}
        reaction = {"type": "reaction_added", "user": "U1", "reaction": "+1::skin-tone-2", "item": item}
        await post_raw(url, body := slack_event(reaction, "Ev4"), slack_headers(body))

    stored = [one.decode().payload for one in faces.bus.log.stored]
    assert [one.rating for one in stored if isinstance(one, FeedbackGiven)] == [1]


async def test_a_token_that_slack_refuses_ends_the_program_with_a_reason(
    faces: Faces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-wrong")
    async with slack_server() as server:
        with pytest.raises(ExceptionGroup) as failed:
            async with adapter(faces, **slack(server)):
                pass

    assert failed.group_contains(ConfigurationError, match="invalid_auth")


async def test_telegram_is_polled_and_answered_with_formatted_text(faces: Faces) -> None:
    async with telegram_server() as server:
        await server.add(message=telegram_message(RENT, 11))
        async with adapter(faces, **telegram(server, poll_seconds=20)):
            await server.until(lambda: server.named("sendMessage"))
            await server.until(lambda: any(one.get("offset") == "101" for one in server.named("getUpdates")))

        (sent,) = server.named("sendMessage")
        assert sent["chat_id"] == "7"
        assert sent["parse_mode"] == "HTML"
        assert sent["reply_parameters"]["message_id"] == 11
        assert "forty euros" in sent["text"]
        assert sent["text"].endswith("[1] Community garden")
        assert server.named("deleteWebhook")


async def test_updates_that_telegram_posts_need_the_secret(faces: Faces) -> None:
    def update(number: int, **content: Any) -> bytes:
        return json.dumps({"update_id": number, **content}).encode()

    secret = {"X-Telegram-Bot-Api-Secret-Token": TELEGRAM_SECRET}
    async with telegram_server() as server:
        hook = telegram(server, updates="webhook", webhook_url="https://bots.example/telegram/test")
        async with adapter(faces, **hook) as url:
            (registered,) = server.named("setWebhook")
            assert registered["secret_token"] == TELEGRAM_SECRET
            assert "message_reaction" in registered["allowed_updates"]
            body = update(1, message=telegram_message(RENT, 12))
            assert (await post_raw(url, body, {})).status_code == 401
            assert (await post_raw(url, b"{}", secret)).status_code == 400
            group = telegram_message("@answer_bot " + RENT, 13, chat=-9, kind="group")
            group["entities"] = [{"type": "mention", "offset": 0, "length": 11}]
            bystander = telegram_message("Not for the bot.", 14, chat=-9, kind="group")
            for number, content in enumerate((bystander, group), start=2):
                assert (await post_raw(url, update(number, message=content), secret)).status_code == 200
            await server.until(lambda: server.named("sendMessage"))

        (sent,) = server.named("sendMessage")
        assert (sent["chat_id"], sent["reply_parameters"]["message_id"]) == ("-9", 13)
        assert asked(faces)[-1] == RENT


async def test_telegram_is_given_the_time_that_it_asks_for(faces: Faces) -> None:
    async with telegram_server() as server:
        wait = {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 1}}
        server.replies["sendMessage"] = [web.json_response(wait, status=429)]
        await server.add(message=telegram_message(RENT, 15))
        async with adapter(faces, **telegram(server, poll_seconds=20)):
            await server.until(lambda: len(server.named("sendMessage")) == 2)

        first, second = server.named("sendMessage")
        assert first["text"] == second["text"]


async def test_a_webhook_posts_the_answer_signed_and_takes_edits_and_ratings(faces: Faces) -> None:
    message = {"id": "m1", "chat": "room", "user": "zoe", "text": "What is the rnet?", "direct": True}
    async with webhook_receiver() as server, adapter(faces, **webhook(server, typing=True, quiet_seconds=60)) as url:
        assert (await post_signed(url, message)).status_code == 202
        edit = {"type": "edit", "id": "m1", "chat": "room", "text": RENT}
        assert (await post_signed(url, edit)).status_code == 202
        # The window is long; the end of the program asks at once and waits for the answer.
    (answer,) = server.named("answer")
    assert "forty euros" in answer["text"]
    assert answer["in_reply_to"] == ["m1"]
    assert (answer["chat"], answer["user"], answer["outcome"]) == ("room", "zoe", "answered")
    assert answer["sources"][0]["title"]
    assert [one["typing"] for one in server.named("typing")] == [True, False]
    assert asked(faces)[-1] == RENT


async def test_a_webhook_refuses_what_is_not_signed_too_old_or_no_message(faces: Faces) -> None:
    message = {"id": "m1", "chat": "room", "user": "zoe", "text": RENT}
    async with webhook_receiver() as server, adapter(faces, **webhook(server)) as url:
        assert (await post_signed(url, message, "other")).status_code == 401
        assert (await post_signed(url, message, at=1000)).status_code == 401
        assert (await post_raw(url, b"{}", {})).status_code == 401
        unknown = await post_signed(url, {**message, "color": "red"})
        assert (unknown.status_code, "color" in unknown.json()["detail"]) == (422, True)
        assert (await post_raw(url.replace("test", "other"), b"{}", {})).status_code == 404
        assert (await post_raw(url, b"x" * 1_000_001, {})).status_code == 413
        assert server.calls == []


async def test_a_message_that_is_deleted_while_the_answer_is_written_withdraws_the_question(faces: Faces) -> None:
    message = {"id": "m9", "chat": "room", "user": "zoe", "text": f"{RENT} Deleted.", "direct": True}
    async with webhook_receiver() as server, adapter(faces, **webhook(server)) as url:
        before = len(asked(faces))
        async with faces.held():
            await post_signed(url, message)
            await until(lambda: len(asked(faces)) > before)
            await post_signed(url, {"type": "delete", "id": "m9", "chat": "room"})
            await until(
                lambda: any(isinstance(one.decode().payload, QuestionWithdrawn) for one in faces.bus.log.stored)
            )
    assert server.named("answer") == []


async def test_answers_go_to_no_address_inside_unless_it_is_named(faces: Faces) -> None:
    message = {"id": "m8", "chat": "room", "user": "zoe", "text": RENT, "direct": True}
    async with webhook_receiver() as server:
        async with adapter(faces, **webhook(server, inside=[])) as url:
            await post_signed(url, message)
        assert server.calls == []


async def test_the_command_answers_and_asks_what_it_has_collected_when_it_is_ended(
    faces: Faces, tmp_path: Path
) -> None:
    """From outside: a process of its own, with a long window; SIGTERM closes the window, and the answer is posted."""
    port, health = free_port(), free_port()
    async with webhook_receiver() as server:
        config = {
            "gateway": {"url": faces.url, "api_key_env": "GATEWAY_KEY"},
            "http": {"port": port},
            "health": {"port": health},
            "shutdown_seconds": 120,
            "channels": [{"name": "test", "quiet_seconds": 600, "longest_seconds": 600, **webhook(server)}],
        }
        path = tmp_path / "channels.yaml"
        path.write_text(json.dumps(config))  # JSON is YAML
        process = await asyncio.create_subprocess_exec(ANSWERBUS, "channel", "run", str(path))
        try:
            async with httpx.AsyncClient(trust_env=False) as http:
                await until_ready(http, f"http://127.0.0.1:{health}/readyz")
                message = {"id": "m1", "chat": "room", "user": "zoe", "text": RENT, "direct": True}
                posted = await post_signed(f"http://127.0.0.1:{port}/webhook/test", message)
                metrics = (await http.get(f"http://127.0.0.1:{health}/metrics")).text
            process.terminate()
            async with asyncio.timeout(limit(100)):
                code = await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    assert (posted.status_code, code) == (202, 0)
    assert 'answerbus_channel_events_total{channel="test",kind="ChatMessage"} 1.0' in metrics
    (answer,) = server.named("answer")
    assert "forty euros" in answer["text"]


async def until_ready(http: httpx.AsyncClient, url: str) -> None:
    async with asyncio.timeout(limit(60)):
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await http.get(url)).status_code == 200:
                    return
            await asyncio.sleep(0.05)
