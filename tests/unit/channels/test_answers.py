"""What is posted, and when: silence, the typing indicator, the pace of a platform, failures."""

from __future__ import annotations

from typing import Any

import pytest

from channels.ports import PlatformError, PlatformRateLimitedError, PlatformUnavailableError
from channels.reply import reply_of
from channels.sender import ATTEMPTS
from tests.support.channels import Rig, ended, settle


async def test_the_indicator_is_shown_again_until_the_answer_is_posted() -> None:
    async with Rig() as rig:
        rig.gateway.hold()
        rig.says("a")
        await rig.clock.advance(5)
        await rig.clock.advance(9)
        assert rig.platform.calls == ["typing", "typing", "typing"]
        rig.gateway.release()
        await rig.clock.advance(20)

        assert rig.platform.calls == ["typing", "typing", "typing", "send", "typing ends"]


@pytest.mark.parametrize(
    "result",
    [
        {"outcome": "rejected", "rejection": {"kind": "off_topic", "reply": False}},
        {"outcome": "rejected", "reply": False},
        {"answer": {"content": " ", "type": "normal"}},
        {"outcome": "abandoned"},
        {"answer": {"content": "I have not found that.", "type": "not_found"}},
    ],
)
async def test_nothing_is_posted_where_the_pipeline_or_the_channel_is_silent(result: dict[str, Any]) -> None:
    async with Rig(silent_outcomes=["abandoned", "not_found"]) as rig:
        rig.gateway.results["q1"] = ended("q1", "text", **result)
        rig.says("a")
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["a"]
        assert rig.posted == []


@pytest.mark.parametrize("text", ["", "Please try again later."])
async def test_a_failure_of_the_gateway_is_silent_unless_there_is_a_text_for_it(text: str) -> None:
    async with Rig(failure_text=text) as rig:
        rig.gateway.refused = True
        rig.says("a")
        await rig.clock.advance(5)

        assert rig.posted == ([text] if text else [])


def test_a_notice_comes_first_and_sources_follow_by_number() -> None:
    reply = reply_of(
        ended(
            "q1",
            "Forty euros [2].",
            notice={"message": "Help is near.", "links": [{"url": "https://help.example", "title": "Help"}]},
            citations=[
                {"number": 2, "source": "kb:b.md", "title": "B", "url": "https://b.example"},
                {"number": 1, "source": "kb:a.md"},
            ],
            answer={
                "content": "Forty euros [2].",
                "links": [{"url": "https://b.example"}, {"url": "https://c.example", "title": "C"}],
            },
        ),
        (),
    )

    assert reply
    assert reply.text == "Help is near.\n\n[Help](https://help.example)\n\nForty euros [2]."
    assert [(one.number, one.title, one.url) for one in reply.sources] == [
        (1, "kb:a.md", ""),
        (2, "B", "https://b.example"),
        (0, "C", "https://c.example"),
    ]


async def test_a_chat_waits_as_long_as_the_platform_asks_for_and_others_do_not() -> None:
    async with Rig() as rig:
        rig.platform.failures = [PlatformRateLimitedError(30)]
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.says("b", "m2", "bob", chat="other")
        await rig.clock.advance(5)
        assert rig.platform.posted == [("other", "Answer 2.")]
        await rig.clock.advance(24)
        assert len(rig.posted) == 1
        await rig.clock.advance(1)

        assert rig.platform.posted[1:] == [("room", "Answer 1.")]


async def test_messages_of_one_chat_keep_its_pace() -> None:
    async with Rig() as rig:
        rig.platform.pace_seconds = 1.0
        rig.gateway.results["q1"] = ended("q1", "one|two|three")
        rig.says("a")
        await rig.clock.advance(5)
        counts = [len(rig.posted)]
        for _ in range(2):
            await rig.clock.advance(1)
            counts.append(len(rig.posted))

        assert counts == [1, 2, 3]
        assert rig.posted == ["one", "two", "three"]


async def test_a_platform_that_fails_is_tried_again_and_given_up_in_the_end() -> None:
    async with Rig() as rig:
        rig.platform.failures = [PlatformUnavailableError("away")] * 2
        rig.says("a", "m1")
        await rig.clock.advance(60)
        assert rig.posted == ["Answer 1."]
        rig.platform.failures = [PlatformUnavailableError("away")] * ATTEMPTS
        rig.says("b", "m2")
        await rig.clock.advance(600)
        assert rig.platform.failures == []
        rig.platform.failures = [PlatformError("blocked")]
        rig.says("c", "m3")
        await rig.clock.advance(60)
        rig.says("d", "m4")
        await rig.clock.advance(60)

        assert rig.posted == ["Answer 1.", "Answer 4."]


async def test_no_more_questions_than_allowed_are_under_way() -> None:
    async with Rig(max_in_flight=2) as rig:
        rig.gateway.hold()
        for number in range(4):
            rig.says(f"{number}", f"m{number}", f"user{number}")
        await rig.clock.advance(5)
        assert rig.gateway.texts == ["0", "1"]
        rig.gateway.release()
        await settle()

        assert rig.gateway.texts == ["0", "1", "2", "3"]
