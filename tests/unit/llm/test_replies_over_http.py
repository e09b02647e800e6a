"""Replies of a model reach the step: over real HTTP, against the model server."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import tool_call as create_tool_call

from services.answer.tool_executor import calls_of
from shared.contracts.domain import Usage
from shared.contracts.errors import ModelError
from shared.llm.call_context import model_calls
from shared.llm.prompts import revision
from shared.llm.replies import is_cut, usage_of
from tests.support.model_server import Asked, ModelServer, ScriptedReply
from tests.unit.llm.endpoints import ASKED, SEARCH, RecordingListener, Verdict, endpoint, metric, say, served


async def test_step_gets_the_reply_as_its_model() -> None:
    with ModelServer([{"relevant": True, "reason": "it is"}]) as server:
        async with served(endpoint(server)) as models:
            verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert verdict == Verdict(relevant=True, reason="it is")
    (asked,) = server.asked
    assert asked.user == "Is it?"
    assert asked.system.startswith("Judge it.\n\nReply with one JSON object")
    assert asked.headers["authorization"] == "Bearer secret-key-1234"
    assert asked.body["response_format"] == {"type": "json_object"}


async def test_schema_is_sent_where_the_endpoint_takes_one() -> None:
    with ModelServer() as server:  # its default reply is an example of the schema
        async with served(endpoint(server, json_mode="schema")) as models:
            verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert verdict.relevant
    assert server.asked[0].schema == Verdict.model_json_schema()


async def test_system_text_of_a_step_is_the_same_for_every_question() -> None:
    with ModelServer() as server:
        async with served(endpoint(server, json_mode="schema")) as models:
            with model_calls("moderation") as work:
                for question in ("Is it?", "Are they?"):
                    await models.invoke("fast", "gate", "Judge it. " * 50, question, Verdict)

    assert server.asked[0].system == server.asked[1].system
    assert [call.usage.cached_tokens > 0 for call in work.calls] == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"relevant": true}\n```',
        'Here it is:\n```\n{"relevant": true}\n```\nAnything else?',
        'Certainly! {"relevant": true} I hope that helps.',
        '\n\n  {"relevant": true}\n',
    ],
)
async def test_json_is_found_inside_what_is_written_around_it(text: str) -> None:
    with ModelServer([text]) as server:
        async with served(endpoint(server)) as models:
            verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert verdict.relevant
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("", "it was empty"),
        ("I cannot say.", "it holds no JSON object"),
        ('{"relevant": tru', "Invalid JSON: EOF while parsing"),
        ('{"relevant": "perhaps"}', "relevant: Input should be a valid boolean"),
        ('{"reason": "none"}', "relevant: Field required"),
    ],
)
async def test_reply_that_does_not_fit_is_asked_for_once_more_with_what_was_wrong(bad: str, named: str) -> None:
    with ModelServer([bad, {"relevant": True}]) as server:
        async with served(endpoint(server)) as models:
            with model_calls("moderation") as work:
                verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert verdict.relevant
    assert server.asked[1].messages[-2]["content"] == (bad or "(nothing)")
    assert named in server.asked[1].messages[-1]["content"]
    (call,) = work.calls
    assert (call.outcome, call.tries) == ("repaired", 2)


async def test_second_reply_that_does_not_fit_leaves_the_step_to_its_rule() -> None:
    before = metric("answerbus_model_fallbacks_total", step="gate", reason="malformed")
    with ModelServer(["no", "never, my password is hunter2"]) as server:
        async with served(endpoint(server)) as models:
            with model_calls("moderation") as work, pytest.raises(ModelError) as raised:
                await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert len(server.asked) == 2
    assert "malformed" in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert work.calls[0].outcome == "malformed"
    assert metric("answerbus_model_fallbacks_total", step="gate", reason="malformed") == before + 1


async def test_reply_is_streamed_in_order() -> None:
    text = "The tower stands in Paris, on the left bank."
    listener = RecordingListener()
    with ModelServer([text], first=0.05, token=0.005) as server:
        async with served(endpoint(server)) as models:
            with model_calls("answer") as work:
                reply = await say(models, ASKED, listener=listener)

    assert listener.text == reply.text == text
    assert len(listener.pieces) >= 5
    assert listener.restarts == 0
    (call,) = work.calls
    assert (call.stage, call.step, call.role, call.model) == ("answer", "answer", "main", "model-one")
    assert call.prompt == revision("Answer briefly.")
    assert 50 <= call.first_token_ms < call.milliseconds


async def test_usage_is_priced_with_the_cached_part_at_its_own_rate() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    said = ScriptedReply("Paris.", usage={**usage, "prompt_tokens_details": {"cached_tokens": 400}})  # type: ignore[dict-item]
    price = {"input": 2.0, "output": 10.0, "cached": 0.5}
    tokens = metric("answerbus_model_tokens_total", kind="cached")
    cost = metric("answerbus_model_cost_usd_total")
    with ModelServer([said, said, ScriptedReply(json.dumps({"relevant": True}), usage=said.usage)]) as server:
        async with served(endpoint(server, price=price)) as models:
            with model_calls("answer") as work:
                reply = await say(models, ASKED)
                await say(models, ASKED)
                await models.invoke("fast", "gate", "Judge.", "Is it?", Verdict)

    one = (600 * 2.0 + 400 * 0.5 + 100 * 10.0) / 1e6
    assert usage_of(reply) == Usage(input_tokens=1000, output_tokens=100, cached_tokens=400, cost_usd=one)
    assert [call.usage for call in work.calls] == [usage_of(reply)] * 3
    assert metric("answerbus_model_tokens_total", kind="cached") == tokens + 1200
    assert metric("answerbus_model_cost_usd_total") == pytest.approx(cost + 3 * one)


async def test_tokens_are_estimated_where_the_endpoint_does_not_count_them() -> None:
    with ModelServer([ScriptedReply("Paris. " * 40)]) as server:
        async with served(endpoint(server, stream_usage=False)) as models:
            reply = await say(models, ASKED)

    assert "stream_options" not in server.asked[0].body
    assert usage_of(reply).output_tokens == len(reply.text) // 4 + 1
    assert usage_of(reply).input_tokens > 5


async def test_tools_are_offered_and_their_calls_read_from_the_stream() -> None:
    arguments = {"query": "opening hours of the tower in winter"}
    said = ScriptedReply("Let me look.", calls=(("search", arguments), ("search", {"query": "prices"})))
    with ModelServer([said]) as server:
        async with served(endpoint(server)) as models:
            reply = await say(models, ASKED, tools=[SEARCH])

    assert server.asked[0].tools == ["search"]
    assert reply.text == "Let me look."
    assert [(call.name, call.arguments, call.fault) for call in calls_of(reply)] == [
        ("search", arguments, ""),
        ("search", {"query": "prices"}, ""),
    ]
    assert len({call.id for call in calls_of(reply)}) == 2


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [('{"query": ', "the arguments are not JSON"), ("[1]", "the arguments are not a JSON object")],
)
async def test_arguments_that_cannot_be_read_are_named_as_such(arguments: str, fault: str) -> None:
    with ModelServer([ScriptedReply(calls=(("search", arguments),))]) as server:
        async with served(endpoint(server)) as models:
            reply = await say(models, ASKED, tools=[SEARCH])

    (call,) = calls_of(reply)
    assert (call.arguments, call.fault) == ({}, fault)


async def test_what_tools_answered_goes_back_in_the_form_of_the_api() -> None:
    call = create_tool_call(name="search", args={"query": "prices"}, id="c1")
    history = [*ASKED, AIMessage("", tool_calls=[call]), ToolMessage("12 €", tool_call_id="c1")]
    with ModelServer(["It costs 12 €."]) as server:
        async with served(endpoint(server)) as models:
            await say(models, history, tools=[SEARCH])

    asking, answering = server.asked[0].messages[2:]
    assert asking["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"query": "prices"}'}
    assert answering == {"role": "tool", "tool_call_id": "c1", "content": "12 €"}


async def test_reply_that_stops_at_its_limit_is_asked_for_with_a_larger_one() -> None:
    listener = RecordingListener()
    price = {"input": 1.0, "output": 1.0}
    with ModelServer([ScriptedReply("It stands in", finish="length"), "It stands in Paris."]) as server:
        async with served(endpoint(server, max_output_tokens=3, price=price)) as models:
            with model_calls("answer") as work:
                reply = await say(models, ASKED, listener=listener)

    assert (reply.text, is_cut(reply), listener.text) == ("It stands in Paris.", False, "It stands in Paris.")
    assert [asked.body["max_tokens"] for asked in server.asked] == [3, 12]
    assert usage_of(reply) == work.calls[0].usage
    assert usage_of(reply).output_tokens == 3 + 4


@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_reply_that_stops_before_its_end_is_marked_as_cut(finish: str) -> None:
    with ModelServer(lambda _: ScriptedReply("It stands in", finish=finish)) as server:
        async with served(endpoint(server)) as models:
            reply = await say(models, ASKED)

    assert is_cut(reply)
    assert len(server.asked) == 1  # the provider's own limit cannot be raised


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "Paris."}]}}]}\n\n'
        b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
        b'data: {"choices": [{"index": 1, "delta": {"content": "Paris."}}]}\n\n'
        b'data: {"choices": [{"index": 0, "delta": {"content": "Rome."}}]}\n\n'
        b'data: {"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
        b'data: {"choices": [{"index": 0, "delta": {"content": "Paris."}}]}\n\ndata: [DONE]\n\n',
        b'{"choices": [{"index": 0, "message": {"content": "Paris."}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": [{"type": "text", "text": "Par"}, {"text": "is."}]}}]}',
    ],
    ids=["content-list", "other-index", "done-without-reason", "plain-json", "plain-json-list"],
)
async def test_other_shapes_of_a_stream_are_read(body: bytes) -> None:
    kind = "text/event-stream" if body.startswith(b"data:") else "application/json"
    with ModelServer([ScriptedReply(raw=body, headers={"content-type": kind})]) as server:
        async with served(endpoint(server)) as models:
            reply = await say(models, ASKED)

    assert (reply.text, is_cut(reply)) == ("Paris.", False)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "said",
    [
        '{"relevant": true, "reason": null}',
        '{"relevant": true} {"relevant": false}',
        '{"comment": 1}\n{"relevant": true, "reason": null}',
    ],
)
async def test_nulls_and_several_objects_cost_no_second_call(said: str) -> None:
    with ModelServer([said]) as server:
        async with served(endpoint(server)) as models:
            verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert verdict == Verdict(relevant=True)
    assert len(server.asked) == 1


async def test_megabyte_of_reply_is_cut_and_no_more_of_it_is_read() -> None:
    listener = RecordingListener()
    with ModelServer([ScriptedReply("x" * 1_000_000)]) as server:
        async with served(endpoint(server, max_reply_chars=50_000)) as models:
            reply = await say(models, ASKED, listener=listener)

    assert is_cut(reply)
    assert 50_000 < len(reply.text) < 400_000
    assert listener.text == reply.text


async def test_megabyte_where_json_was_wanted_is_repaired_or_given_up() -> None:
    with ModelServer(["{" + "x" * 1_000_000, {"relevant": True}]) as server:
        async with served(endpoint(server, max_reply_chars=50_000)) as models:
            verdict = await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert verdict.relevant
    assert len(server.asked[1].messages[-2]["content"]) <= 2000
    assert "too long" in server.asked[1].messages[-1]["content"]


async def test_extra_fields_of_an_endpoint_are_in_its_requests() -> None:
    with ModelServer(lambda asked: None if asked.streams else {"relevant": True}) as server:
        async with served(endpoint(server, extra_body={"vram_limit": 24}, temperature=0.5)) as models:
            await say(models, ASKED)
            await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert [(asked.body["vram_limit"], asked.body["temperature"]) for asked in server.asked] == [(24, 0.5)] * 2


async def test_azure_is_asked_at_its_deployment_with_its_key_and_version() -> None:
    def answer(asked: Asked) -> str | None:
        return None if asked.streams else '{"relevant": true}'

    with ModelServer(answer) as server:
        base = server.url.removesuffix("/v1")
        azure = endpoint(base, kind="azure", api_version="2026-01-01")
        async with served(azure) as models:
            await say(models, ASKED)
            await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    for asked in server.asked:
        assert asked.path == "/openai/deployments/model-one/chat/completions"
        assert asked.headers["api-key"] == "secret-key-1234"


async def test_role_without_an_endpoint_raises_at_once() -> None:
    before = metric("answerbus_model_fallbacks_total", step="gate", reason="not_configured")
    async with served() as models:
        assert not models.has("fast")
        with pytest.raises(ModelError, match="not_configured"):
            await models.invoke("fast", "gate", "Judge it.", "Is it?", Verdict)

    assert metric("answerbus_model_fallbacks_total", step="gate", reason="not_configured") == before + 1
