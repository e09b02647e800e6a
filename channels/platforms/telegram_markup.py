"""The HTML of Telegram's messages (https://core.telegram.org/bots/api#html-style)."""

from __future__ import annotations

import html

from channels.markup import TextSpan, reply_messages
from channels.reply import ChatReply

#: Characters of a message, in UTF-16 code units. Telegram counts without the markup; counting it too is safe.
MAX_MESSAGE = 4096


class TelegramMarkup:
    """`ChatMarkup` of Telegram."""

    def span(self, span: TextSpan) -> str:
        style = span.style
        text = html.escape(span.text, quote=False)
        if style.fenced:
            return f"<pre>{text}</pre>"
        if style.code and not style.link:  # code can be no part of anything else
            return f"<code>{text}</code>"
        for used, tag in ((style.struck, "s"), (style.italic, "i"), (style.bold, "b")):
            if used:
                text = f"<{tag}>{text}</{tag}>"
        return f'<a href="{html.escape(style.link)}">{text}</a>' if style.link else text

    def length(self, text: str) -> int:
        return len(text.encode("utf-16-le")) // 2


def telegram_messages(reply: ChatReply) -> list[str]:
    """The messages of a reply, its sources last."""
    return reply_messages(reply, TelegramMarkup(), MAX_MESSAGE)
