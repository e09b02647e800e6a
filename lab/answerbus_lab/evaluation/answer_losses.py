"""Where answers are lost: for each answerable question without a right answer, the step at which it went wrong.

It follows from the passages and from the sentences that the extractive engine considered (`Context.trace`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shared.contracts.domain import Passage
from shared.language.analysis import sentences

#: The reasons in the order of the steps, with what each means.
LOSSES: Mapping[str, str] = {
    "document_not_found": "no passage of the document was found",
    "passage_not_found": "the document was found, but not the passage that says it",
    "between_sentences": "the passage says it, but no sentence by itself does",
    "abstained_right": "not answered, although the best sentence says it",
    "abstained_wrong": "not answered, and the best sentence does not say it",
    "withdrawn": "the best sentence says it, but the verifier took it out",
    "next_sentence": "the sentence before or after the first one of the answer says it",
    "second": "it is the second of the sentences considered",
    "third": "it is the third of the sentences considered",
    "lower": "it is a lower one, of the same document",
    "other_document": "it is a lower one, and the answer quotes another document first",
}

#: Whether a text says the expected answer.
Says = Callable[[str], bool]


def loss(source: str, passages: Sequence[Passage], explained: Mapping[str, Any], answered: bool, says: Says) -> str:
    """Why the right answer was not given: a key of `LOSSES`.

    `explained` is `Context.trace["sentences"]`: the considered sentences, the most probable first.
    """
    of_source = [passage for passage in passages if passage.source == source]
    saying = [passage for passage in of_source if says(passage.text)]
    if not saying:
        return "passage_not_found" if of_source else "document_not_found"
    if not any(says(passage.text[start:end]) for passage in saying for start, end in sentences(passage.text)):
        return "between_sentences"
    texts = {passage.id: passage for passage in passages}
    considered = [
        (texts[sentence["passage"]], sentence)
        for sentence in explained.get("sentences", ())
        if sentence["passage"] in texts
    ]
    said = [says(passage.text[sentence["start"] : sentence["end"]]) for passage, sentence in considered]
    if not answered:
        return "abstained_right" if said[:1] == [True] else "abstained_wrong"
    return _misplaced(source, considered, said, says)


def _misplaced(
    source: str, considered: Sequence[tuple[Passage, Mapping[str, Any]]], said: Sequence[bool], says: Says
) -> str:
    """Why another sentence was quoted; `said` marks the considered ones that say it."""
    if said[:1] == [True]:
        return "withdrawn"
    if considered and _beside(*considered[0], says):
        return "next_sentence"
    if considered and considered[0][0].source != source:
        return "other_document"
    return {1: "second", 2: "third"}.get(said.index(True), "lower") if True in said else "lower"


def _beside(passage: Passage, one: Mapping[str, Any], says: Says) -> bool:
    """Whether the sentence before or after a considered one says it."""
    spans = sentences(passage.text)
    before = [span for span in spans if span[1] <= one["start"]][-1:]
    after = [span for span in spans if span[0] >= one["end"]][:1]
    return any(says(passage.text[start:end]) for start, end in (*before, *after))


def losses(lost: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """By reason, how often it occurred in each group; `lost` has the reasons of each group."""
    counts = {group: Counter(reasons) for group, reasons in lost.items()}
    return {reason: {group: counts[group][reason] for group in counts} for reason in LOSSES}
