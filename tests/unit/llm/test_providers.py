"""Any chat model of LangChain can be named in settings, and any of its callback handlers."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from pydantic import ValidationError

from shared.contracts.errors import ConfigurationError, ModelError
from shared.contracts.pipelines import StepModel
from shared.llm.call_context import model_calls
from shared.llm.endpoint import Endpoint
from shared.llm.fallback import FallbackModels
from shared.llm.providers import build, handlers
from shared.llm.replies import model_of, usage_of
from shared.llm.settings import EndpointSettings, ModelsSettings
from tests.support.model_server import ModelServer, ScriptedReply
from tests.unit.llm.endpoints import ASKED, RecordingListener, Verdict, endpoint, say, served

FAKE = "langchain_core.language_models.fake_chat_models.FakeListChatModel"
HEARD: list[str] = []


def fake(*responses: str, name: str = "fake", **settings: Any) -> dict[str, Any]:
    return {"name": name, "model": "m", "provider": FAKE, "options": {"responses": list(responses)}, **settings}


class Hearing(AsyncCallbackHandler):
    """A handler as somebody else would write it."""

    async def on_chat_model_start(self, serialized: Any, messages: Any, **_: Any) -> None:
        HEARD.append(f"asked: {messages[0][-1].content}")

    async def on_llm_end(self, response: Any, **_: Any) -> None:
        HEARD.append(f"said: {response.generations[0][0].message.text}")


async def test_named_class_answers_is_streamed_and_its_tokens_are_estimated() -> None:
    listener = RecordingListener()
    async with served(fake("It stands in Paris.", price={"output": 1.0})) as models:
        with model_calls("answer") as work:
            reply = await say(models, listener=listener)

    assert listener.text == reply.text == "It stands in Paris."
    assert len(listener.pieces) > 5
    assert usage_of(reply) == work.calls[0].usage
    assert work.calls[0].usage.output_tokens == len(reply.text) // 4 + 1
    assert (work.calls[0].endpoint, model_of(reply)) == ("fake", "m")


async def test_structured_reply_of_a_named_class_is_parsed_and_repaired() -> None:
    async with served(fake("perhaps", '{"relevant": true}')) as models:
        assert await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict) == Verdict(relevant=True)


async def test_named_class_is_one_endpoint_of_a_cascade() -> None:
    with ModelServer(lambda _: ScriptedReply(status=401)) as server:
        async with served(endpoint(server), fake("Paris.")) as models:
            assert (await say(models)).text == "Paris."


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"provider": "langchain_nowhere.ChatNowhere"}, "pip install langchain-nowhere"),
        ({"provider": "langchain_core.language_models.ChatNothing"}, "has no ChatNothing"),
        ({"provider": "langchain_core.messages.AIMessage"}, "is not a chat model of LangChain"),
        ({"provider": "os.getcwd"}, "is not a chat model of LangChain"),
        ({"provider": FAKE, "options": {"respond": "secret-key-1234"}}, "does not take its options"),
    ],
)
async def test_class_that_cannot_be_used_is_named_with_what_to_do(settings: dict[str, Any], reason: str) -> None:
    named = EndpointSettings.model_validate({"name": "other", "model": "m", **settings})

    with pytest.raises(ConfigurationError, match=reason) as raised:
        build(named)
    assert "secret-key-1234" not in str(raised.value)
    async with served(named.model_dump()) as models:
        with pytest.raises(ModelError, match="configuration"):
            await say(models)


@pytest.mark.parametrize(
    "path", ["ChatGroq", "langchain groq.ChatGroq", "langchain_groq:ChatGroq", ".ChatGroq", "a..b"]
)
def test_provider_that_is_no_import_path_is_refused_with_the_settings(path: str) -> None:
    with pytest.raises(ValidationError):
        EndpointSettings.model_validate({"name": "other", "model": "m", "provider": path})


async def test_handlers_that_the_settings_name_hear_every_try() -> None:
    HEARD.clear()
    settings = {"endpoints": [fake("Paris.")], "callbacks": [f"{__name__}.Hearing"]}
    models = FallbackModels.from_settings(ModelsSettings.model_validate(settings))

    await say(models)

    assert [f"asked: {ASKED[1].content}", "said: Paris."] == HEARD


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("langfuse_nowhere.CallbackHandler", "pip install langfuse-nowhere"),
        ("langchain_core.messages.AIMessage", "is not a callback handler"),
        ("os.nothing", "has no nothing"),
    ],
)
def test_handler_that_cannot_be_used_is_named(path: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        handlers([path])


async def test_role_is_a_chat_model_that_chains_and_tools_of_langchain_take() -> None:
    @tool
    def opening_hours(place: str) -> str:
        """When a place opens."""
        return place

    said = ScriptedReply(calls=(("opening_hours", {"place": "tower"}),))
    with ModelServer([said, "It opens at nine."]) as server:
        async with served(endpoint(server)) as models:
            model = models.chat("main", "answer")
            assert isinstance(model, BaseChatModel)
            reply = await model.bind_tools([opening_hours]).ainvoke("When does the tower open?")
            result = await opening_hours.ainvoke(reply.tool_calls[0])
            chunks = [chunk async for chunk in model.astream(["When?", reply, result])]

    assert server.asked[0].tools == ["opening_hours"]
    assert result.content == "tower"
    assert "".join(str(chunk.text) for chunk in chunks) == "It opens at nine."


async def test_groq_is_asked_through_its_own_package() -> None:
    pytest.importorskip("langchain_groq", reason="the extra `groq` is not installed")
    wanted = StepModel(temperature=0.0, max_output_tokens=77)
    with ModelServer(lambda asked: "Paris." if asked.streams else {"relevant": True}) as server:
        base = server.url.removesuffix("/v1")
        named = endpoint(base, provider="langchain_groq.ChatGroq", json_mode="object", name="groq")
        async with served(named) as models:
            with model_calls("answer", models={"answer": wanted}) as work:
                reply = await say(models)
                verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert (reply.text, verdict.relevant) == ("Paris.", True)
    streamed, whole = server.asked
    assert streamed.path == "/openai/v1/chat/completions"
    assert streamed.headers["authorization"] == "Bearer secret-key-1234"
    assert (streamed.body["temperature"], streamed.body["max_tokens"]) == (0.0, 77)
    assert whole.body["response_format"] == {"type": "json_object"}
    assert work.calls[0].usage.input_tokens > 0


@pytest.mark.parametrize(
    ("provider", "package"),
    [
        ("langchain_google_genai.ChatGoogleGenerativeAI", "langchain_google_genai"),
        ("langchain_ollama.ChatOllama", "langchain_ollama"),
    ],
)
def test_packages_of_google_and_ollama_take_model_key_and_limit(provider: str, package: str) -> None:
    pytest.importorskip(package, reason="its extra is not installed")
    named = {"name": "x", "model": "some-model", "provider": provider, "max_output_tokens": 55, "temperature": 0.1}
    model: Any = build(EndpointSettings.model_validate({**named, "api_key": "secret-key-1234"}))

    assert "some-model" in str(model.model)
    assert model.temperature == 0.1
    assert 55 in (getattr(model, "max_output_tokens", None), getattr(model, "num_predict", None))
    assert "secret-key-1234" not in repr(model)


async def test_address_is_never_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/elsewhere")
    openai: Any = build(EndpointSettings(name="a", kind="openai", model="m"))
    assert str(openai.root_async_client.base_url) == "https://api.openai.com/v1/"
    claude: Any = build(EndpointSettings(name="b", kind="anthropic", model="m"))
    assert str(claude._async_client.base_url).startswith("https://api.anthropic.com")


async def test_check_of_a_named_class_asks_it() -> None:
    await Endpoint(EndpointSettings.model_validate(fake("yes"))).check()
