"""The packaged cascade of models: Groq, then Gemini, then Ollama, each played by a server of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import yaml
from langchain_core.messages import HumanMessage

from shared.contracts.errors import ModelError
from shared.llm.fallback import FallbackModels
from shared.llm.settings import ModelsSettings, read_models
from tests.acceptance.research.research_model import FOLDER
from tests.support.model_server import ModelServer, ScriptedReply
from tests.unit.llm.endpoints import say

PROVIDERS = ("groq", "gemini", "ollama")
DOWN = ScriptedReply(status=401)
ASKED = [HumanMessage("What is Meridian?")]


def packaged() -> ModelsSettings:
    return read_models(str(FOLDER / "models.yaml"))


@asynccontextmanager
async def cascade(*down: str) -> AsyncIterator[tuple[FallbackModels, dict[str, ModelServer]]]:
    """The packaged file with the addresses of three servers; those named are down."""
    document = yaml.safe_load((FOLDER / "models.yaml").read_text("utf-8"))
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in PROVIDERS:
            reply = DOWN if name in down else f"It is a framework, says {name}."
            servers[name] = stack.enter_context(ModelServer(lambda _, reply=reply: reply))
        for endpoint in document["endpoints"]:
            if endpoint["name"] in servers:
                endpoint["base_url"] = servers[endpoint["name"]].url
        models = FallbackModels.from_settings(read_models(yaml.safe_dump(document)))
        try:
            yield models, servers
        finally:
            await models.close()


@pytest.mark.parametrize("role", ["fast", "main", "judge"])
def test_every_role_is_played_by_groq_then_gemini_then_ollama(role: str) -> None:
    assert [(one.name, one.model) for one in packaged().of(role)] == [
        ("groq", "llama-3.3-70b-versatile"),
        ("gemini", "gemini-2.0-flash"),
        ("ollama", "phi3:mini"),
    ]


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_has_a_temperature_of_a_tenth_and_4096_tokens(name: str) -> None:
    (endpoint,) = [one for one in packaged().of("main") if one.name == name]

    assert (endpoint.temperature, endpoint.max_output_tokens) == (0.1, 4096)


def test_passages_are_embedded_by_nomic_embed_text_of_ollama() -> None:
    (endpoint,) = packaged().of("embed")

    assert endpoint.model == "nomic-embed-text"
    assert endpoint.base_url.startswith("http://127.0.0.1:11434")


@pytest.mark.parametrize(("down", "replied"), [((), "groq"), (("groq",), "gemini"), (("groq", "gemini"), "ollama")])
async def test_next_provider_answers_where_the_ones_before_it_fail(down: tuple[str, ...], replied: str) -> None:
    async with cascade(*down) as (models, servers):
        reply = await say(models, ASKED)
        asked = [name for name, server in servers.items() if server.asked]

    assert reply.text == f"It is a framework, says {replied}."
    assert asked == list(PROVIDERS[: PROVIDERS.index(replied) + 1])


async def test_call_fails_when_all_providers_are_exhausted() -> None:
    async with cascade(*PROVIDERS) as (models, servers):
        with pytest.raises(ModelError, match="no usable reply from the role main"):
            await say(models, ASKED)

        assert all(server.asked for server in servers.values())


async def test_temperature_and_limit_of_tokens_are_sent_with_every_call() -> None:
    async with cascade() as (models, servers):
        await say(models, ASKED)
    body = servers["groq"].asked[0].body

    assert body["temperature"] == 0.1
    assert 4096 in (body.get("max_tokens"), body.get("max_completion_tokens"))
