"""What persistence does on the bus beside hearing and saying facts."""

from __future__ import annotations

from shared.contracts.stage import Access
from shared.contracts.subjects import ANSWERS_BUCKET, SESSIONS_BUCKET

#: It reads the log to end the questions whose stages fell silent, and erases from it what is to be forgotten: event by
#: event, as only that takes them off the disk. It may not purge.
ACCESS = Access(keeps=(SESSIONS_BUCKET, ANSWERS_BUCKET), log=True, erases=True)
