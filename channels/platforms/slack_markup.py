"""Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text): posts, and what people wrote."""

from __future__ import annotations

import html
import re

from channels.markup import TextSpan, reply_messages
from channels.reply import ChatReply

#: Characters of a message that Slack recommends at most; far longer ones it cuts off.
MAX_MESSAGE = 4000
#: A link, a mention or a command in a text of Slack.
_REFERENCE = re.compile(r"<([^<>]*+)>")
_IN_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", "|": "%7C", " ": "%20", "&": "&amp;"})


class SlackMarkup:
    """`ChatMarkup` of Slack. `<`, `>` and `&` are escaped, so no text can mention a channel or forge a link."""

    def span(self, span: TextSpan) -> str:
        style = span.style
        if style.fenced:
            return f"```\n{_escaped(span.text.replace('```', chr(39) * 3))}\n```"
        if style.code and not style.link:
            return _around(_escaped(span.text.replace("`", "'")), "`")
        text = _escaped(span.text)
        if style.link:
            text = f"<{style.link.translate(_IN_ADDRESS)}|{' '.join(text.split()).replace('|', '/') or 'link'}>"
        for used, mark in ((style.struck, "~"), (style.italic, "_"), (style.bold, "*")):
            if used:
                text = _around(text, mark)
        return text

    def length(self, text: str) -> int:
        return len(text)


def slack_messages(reply: ChatReply) -> list[str]:
    """The messages of a reply, its sources last."""
    return reply_messages(reply, SlackMarkup(), MAX_MESSAGE)


def plain_text(text: str, bot: str) -> tuple[str, bool]:
    """What somebody wrote, as plain text without mentions of the user `bot`, and whether there was one."""
    mentioned = False

    def shown(match: re.Match[str]) -> str:
        nonlocal mentioned
        target, _, label = match[1].partition("|")
        if target == f"@{bot}":
            mentioned = True
            return ""
        if target.startswith(("@", "#", "!")):
            return f"#{label or target[1:]}" if target[0] == "#" else f"@{(label or target[1:]).removeprefix('@')}"
        return f"{label} ({target})" if label and label not in target else target

    plain = html.unescape(_REFERENCE.sub(shown, text))
    return plain.strip(), mentioned


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _around(text: str, mark: str) -> str:
    """The mark around every line, within its white space, as Slack reads it only there."""
    lines = []
    for line in text.split("\n"):
        inner = line.strip()
        begin = len(line) - len(line.lstrip())
        lines.append(f"{line[:begin]}{mark}{inner}{mark}{line[begin + len(inner) :]}" if inner else line)
    return "\n".join(lines)
