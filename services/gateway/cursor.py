"""The SSE `id:`: how far a client has read, in the log's own sequence.

1234                  everything of the fact with sequence 1234
1234.2                the first two frames of the fact with sequence 1234
1234~0.87.1f0c3a9e    everything of fact 1234, and 87 characters of the draft of attempt 0, with their CRC-32
1234~0d9.87.1f0c3a9e  the same of the beginning that bears number 9
1234~1.0.00000000     everything of fact 1234, and that the draft of attempt 1 replaces what was read of others
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DRAFT = r"~([0-9]{1,3})(?:d([1-9][0-9]{0,9}))?\.(0|[1-9][0-9]{0,8})\.([0-9a-f]{8})"
_FORM = re.compile(rf"([0-9]{{1,19}})(?:\.([1-9][0-9]{{0,3}})|{_DRAFT})?")


@dataclass(frozen=True)
class Cursor:
    """`sequence` is read in full unless `frames` says how many of its frames were.

    `offset` characters of the draft of `attempt` (of its beginning `draft`) were read too; `checksum` is theirs, so
    that a draft that turned out otherwise than it was streamed is not patched onto them.
    """

    sequence: int = 0
    frames: int = 0
    attempt: int = 0
    offset: int = 0
    checksum: int = 0
    draft: int = 0

    def __str__(self) -> str:
        if self.frames:
            return f"{self.sequence}.{self.frames}"
        if self.offset or self.attempt or self.draft:
            beginning = f"d{self.draft}" if self.draft else ""
            return f"{self.sequence}~{self.attempt}{beginning}.{self.offset}.{self.checksum:08x}"
        return str(self.sequence)

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read a `Last-Event-ID`.

        Raises:
            ValueError: it is not one of ours.
        """
        found = _FORM.fullmatch(text.strip())
        if not found:
            raise ValueError("Last-Event-ID must be an id that this server sent")
        sequence, frames, attempt, draft, offset = (int(group or 0) for group in found.groups()[:5])
        cursor = cls(sequence, frames, attempt, offset, int(found[6] or "0", 16), draft)
        if str(cursor) != text.strip() or (cursor.checksum and not offset):
            raise ValueError("Last-Event-ID must be an id that this server sent")
        return cursor

    def already_read(self, sequence: int) -> bool:
        return sequence < self.sequence or (sequence == self.sequence and not self.frames)
