"""The strategy `index`: sources are chosen from their index and loaded whole, instead of passages being searched for.

For collections of some hundred sources whose lines tell them apart: the register is read for every question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from services.retrieval.ports import VectorIndex, Wanted
from services.retrieval.rankers.explanation import Change, Explanation
from services.retrieval.rankers.sources import NAME, SourceChooser
from services.retrieval.settings import IndexSettings
from services.retrieval.source_selection import chosen
from services.retrieval.stores.points import most_used, passage_id
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument, KbIndexEntry
from shared.llm.none import NoModels
from shared.llm.ports import Models

INDEX = "index"
_Register = tuple[tuple[str, str], ...]


class WholeSources:
    """Chooses and loads. The chooser is made anew when the register says something else than before."""

    def __init__(self, index: VectorIndex, models: Models | None = None) -> None:
        self._index = index
        self._models = models or NoModels()
        self._made_of: tuple[_Register, str] = ((), "")
        self._chooser = SourceChooser(())

    def within(self, settings: IndexSettings, introduction: str = "") -> _Choosing:
        """The leg that loads no more than the settings allow; a model is told the introduction."""
        return _Choosing(self, settings, introduction)

    async def choose(
        self, wanted: Wanted, settings: IndexSettings, introduction: str = ""
    ) -> tuple[list[IndexedDocument], Explanation]:
        """The documents of the sources that fit the question, best first, by the model or by rule."""
        documents = await self._index.documents(wanted.collections[0] if len(wanted.collections) == 1 else "")
        known = {one.source: one for one in documents if not wanted.collections or one.collection in wanted.collections}
        language = most_used(Counter(one.language for one in known.values()))
        made_of = (tuple((one.source, one.version) for one in known.values()), language)
        if made_of != self._made_of:
            entries = [
                KbIndexEntry(source=one.source, title=one.title, description=one.description) for one in known.values()
            ]
            self._chooser, self._made_of = SourceChooser(entries, language=language), made_of
        if settings.chooser == "model":
            entries = self._chooser.by_fit(wanted.text)
            by_model = await chosen(self._models, wanted.text, entries, settings, introduction)
            if by_model is not None:
                return [known[source] for source in by_model[0]], by_model[1]
        sources, explained = self._chooser.choose(wanted.text, settings)
        return [known[source] for source in sources], explained

    async def load(self, document: IndexedDocument) -> list[Passage]:
        """All passages of the document, in order."""
        ids = [passage_id(document.source, document.version, number) for number in range(document.chunks)]
        return sorted(await self._index.fetch(ids), key=lambda passage: (passage.start, passage.end))


class _Choosing:
    """The leg of one question; afterwards `explained` says what was chosen and what there was no room for."""

    name = INDEX

    def __init__(self, wholes: WholeSources, settings: IndexSettings, introduction: str) -> None:
        self._wholes = wholes
        self._settings = settings
        self._introduction = introduction
        self.explained = Explanation(NAME)

    async def search(self, wanted: Wanted) -> Sequence[Passage]:
        """The passages of whole sources, those of the best one first, each source in its own order."""
        documents, told = await self._wholes.choose(wanted, self._settings, self._introduction)
        scores = [change.after or 0.0 for change in told.changes]
        changes, loaded, left = list(told.changes), list[Passage](), self._settings.max_chars
        for document, score in zip(documents, scores, strict=True):
            passages = await self._wholes.load(document)
            length = sum(len(passage.text) for passage in passages)
            if loaded and length > left:
                changes.append(Change(f"left out, no room: {document.source} ({length} characters)"))
                continue
            fitting = _beginning(passages, left)
            if len(fitting) < len(passages):
                changes.append(Change(f"cut: {document.source} is longer than max_chars"))
            left -= length
            share = round(score / scores[0], 4) if scores[0] else 0.0
            loaded += (one.model_copy(update={"score": share, "via": (INDEX,)}) for one in fitting)
        self.explained = Explanation(NAME, tuple(changes))
        return loaded


def _beginning(passages: Sequence[Passage], room: int) -> list[Passage]:
    """As many of the first passages as fit, and one at least."""
    fitting: list[Passage] = []
    for passage in passages:
        room -= len(passage.text)
        if room < 0 and fitting:
            break
        fitting.append(passage)
    return fitting
