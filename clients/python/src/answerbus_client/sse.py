"""Server-sent events: bytes in, frames out (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a frame that is not complete; a server that sends more is not Answerbus.
MAX_FRAME = 64 * 2**20


@dataclass(frozen=True)
class Frame:
    """A frame; `data` is None where it only sets the id or the time to reconnect (in seconds)."""

    event: str
    data: str | None
    id: str | None
    retry: float | None


class FrameParser:
    """Frames may be cut anywhere, also in the middle of a character; an incomplete frame is never returned."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, part: bytes) -> list[Frame]:
        """The frames that `part` completes; comments give none.

        Raises:
            ValueError: a frame is larger than `MAX_FRAME`.
        """
        *frames, self._buffer = (self._buffer + part).split(b"\n\n")
        if len(self._buffer) > MAX_FRAME:
            raise ValueError(f"a frame of the stream is larger than {MAX_FRAME} bytes")
        return [frame for raw in frames if (frame := _frame(raw.decode("utf-8", "replace"))) is not None]


def _frame(text: str) -> Frame | None:
    event, data, identity, retry = "message", None, None, None
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                data = value if data is None else f"{data}\n{value}"
            case "event":
                event = value
            case "id":
                identity = value
            case "retry" if value.isascii() and value.isdigit():
                retry = int(value) / 1000
    return Frame(event, data, identity, retry) if (data, identity, retry) != (None, None, None) else None
