"""One completion on its way to the asker: read in its form, its markers renumbered, its length kept."""

from __future__ import annotations

from services.answer.citations import Markers, cut
from services.answer.output_parsers.json_form import JsonReader
from services.answer.output_parsers.reader import AFRESH, Reader, Shown, Written
from services.answer.output_parsers.tags import TagReader
from services.answer.ports import Speech
from services.answer.settings import AnswerSettings


class Writing:
    """Plays the models' `Listener`: what it says to `speak`, put together, is the content that `finish` returns."""

    def __init__(self, speak: Speech, settings: AnswerSettings, passages: int) -> None:
        self._speak = speak
        self._form = settings.format
        self._most = settings.max_answer_chars
        self._passages = passages
        self._begin()

    def _begin(self) -> None:
        self.markers = Markers(self._passages)
        self._reader: Reader = TagReader() if self._form == "tags" else JsonReader()
        self._length = 0
        self._heard = False

    async def piece(self, text: str) -> None:
        self._heard = True
        await self._show(self._reader.feed(text))

    async def restart(self) -> None:
        if self._heard:
            await self._speak.restart()
            self._begin()

    async def withdraw(self) -> None:
        """What was written is not the answer."""
        if self._speak.said:
            await self._speak.restart()

    async def finish(self, text: str) -> tuple[str, Written]:
        """The content and what was written beside it; `text` is the whole completion, for what was not heard."""
        if not self._heard:
            await self.piece(text)
        shown, written = self._reader.finish()
        await self._show(shown)
        await self._say(self.markers.finish())
        said = self._speak.said
        content = said
        if self._length > self._most:
            content = cut(said, self._most)
        if written.not_found or written.clarification:
            content = ""
        if content != said:
            await self._speak.restart()
            await self._speak(content)
        return content, written

    async def _show(self, shown: list[Shown]) -> None:
        for one in shown:
            if one is AFRESH:
                self.markers.clear()
                self._length = 0
                await self._speak.restart()
            elif isinstance(one, str):
                await self._say(self.markers.feed(one))

    async def _say(self, text: str) -> None:
        """Say it while there is room; a little more is kept, so that the cut falls behind a sentence."""
        room = self._most + 1 - self._length
        self._length += len(text)
        if room > 0:
            await self._speak(text[:room])
