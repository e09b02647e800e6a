"""Answers in the markup of a platform: escaped, complete on every cut, sources at the end."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.platforms import slack_markup, telegram_markup
from channels.platforms.slack_markup import SlackMarkup, plain_text, slack_messages
from channels.platforms.telegram_markup import TelegramMarkup, telegram_messages
from channels.reply import ChatReply, ReplySource

ANSWER = """# Rent & <fees>

A plot is **forty euros** a year [1]; see [the list](https://town.example/a?b=1&c=2) or [this](javascript:alert(1)).

1. `rent < 50`
2. *water*
   - rain

> ~~old~~

| plot | rent |
|------|------|
| A    | 40   |

```
if a < b:
```
"""
SOURCES = (ReplySource(1, "List <2026>", "https://town.example/?a=1&b=2"), ReplySource(0, "kb:more.md"))
TAG = re.compile(r"<(/?)(b|i|s|a|code|pre)(?: href=\"[^\"<>]*\")?>")


def test_telegram_gets_html() -> None:
    assert telegram_messages(ChatReply(ANSWER, SOURCES)) == [
        "<b>Rent &amp; &lt;fees&gt;</b>\n\n"
        "A plot is <b>forty euros</b> a year [1]; see "
        '<a href="https://town.example/a?b=1&amp;c=2">the list</a> or [this](javascript:alert(1)).\n\n'
        "1. <code>rent &lt; 50</code>\n2. <i>water</i>\n    • rain\n\n"
        "&gt; <s>old</s>\n\n"
        "<b>plot</b> | <b>rent</b>\nA | 40\n\n"
        "<pre>if a &lt; b:</pre>\n\n"
        '[1] <a href="https://town.example/?a=1&amp;b=2">List &lt;2026&gt;</a>\n→ kb:more.md'
    ]


def test_slack_gets_mrkdwn() -> None:
    assert slack_messages(ChatReply(ANSWER, SOURCES)) == [
        "*Rent &amp; &lt;fees&gt;*\n\n"
        "A plot is *forty euros* a year [1]; see "
        "<https://town.example/a?b=1&amp;c=2|the list> or [this](javascript:alert(1)).\n\n"
        "1. `rent &lt; 50`\n2. _water_\n    • rain\n\n"
        "&gt; ~old~\n\n"
        "*plot* | *rent*\nA | 40\n\n"
        "```\nif a &lt; b:\n```\n\n"
        "[1] <https://town.example/?a=1&amp;b=2|List &lt;2026&gt;>\n→ kb:more.md"
    ]


def test_an_answer_mentions_nobody_and_forges_no_link_in_slack() -> None:
    (message,) = slack_messages(ChatReply("<!channel> <@U1> <https://evil.example|bank>", (ReplySource(1, "<!here>"),)))

    assert "<!" not in message
    assert "<@" not in message
    assert "|bank>" not in message


def test_long_answers_are_cut_between_paragraphs() -> None:
    paragraphs = [f"{number} " + "word " * 300 for number in range(6)]
    messages = slack_messages(ChatReply("\n\n".join(paragraphs)))

    assert [message.split()[0] for message in messages] == ["0", "2", "4"]
    assert all(len(message) <= slack_markup.MAX_MESSAGE for message in messages)


@pytest.mark.parametrize(
    "text", ["**" + ("wörd <&> " * 3000).strip() + "**", "x" * 20_000, "🙂" * 9000, "```\n" + "a < b\n" * 2000 + "```"]
)
def test_a_paragraph_that_is_too_long_is_cut_within_the_limit_and_nothing_is_lost(text: str) -> None:
    expected = re.sub(r"[\s*`]", "", text)
    telegram = telegram_messages(ChatReply(text))
    slack = slack_messages(ChatReply(text))

    assert all(TelegramMarkup().length(one) <= telegram_markup.MAX_MESSAGE for one in telegram)
    assert all(SlackMarkup().length(one) <= slack_markup.MAX_MESSAGE for one in slack)
    assert re.sub(r"\s", "", html.unescape(TAG.sub("", "".join(telegram)))) == expected
    assert re.sub(r"[\s*`]", "", html.unescape("".join(slack))) == expected


@given(st.text(alphabet="ab *_`[]()<>&\n#-1.~|>\"'\\https://", max_size=300))
def test_the_html_of_any_answer_is_well_formed(text: str) -> None:
    for message in telegram_messages(ChatReply(text)):
        opened: list[str] = []
        for closing, name in TAG.findall(message):
            if not closing:
                opened.append(name)
            else:
                assert opened.pop() == name
        assert opened == []
        assert not re.search(r"[<>]", TAG.sub("", message))


@pytest.mark.parametrize(
    ("text", "plain", "mentioned"),
    [
        ("<@UBOT> how &amp; why", "how & why", True),
        ("ask <@U2|joe> in <#C1|general>, <!here>", "ask @joe in #general, @here", False),
        ("<https://a.example|a.example> <https://b.example/x|B>", "https://a.example B (https://b.example/x)", False),
        ("1 &lt; 2 <", "1 < 2 <", False),
    ],
)  # fmt: skip
def test_what_people_write_in_slack_is_read_as_plain_text(text: str, plain: str, mentioned: bool) -> None:
    assert plain_text(text, "UBOT") == (plain, mentioned)
