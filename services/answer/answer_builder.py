"""From what a model wrote to an answer with its citations. Pure.

A sentence is supported by the passages its markers name. One without a marker is given the passage whose words it
shares most, else the page the model named, else the only page cited at all; failing these it stays without, and the
verifier will not let it pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from services.answer.citations import Markers, Segment, segments
from services.answer.output_parsers.reader import Written
from services.answer.ports import Draft
from shared.contracts.domain import Answer, Citation, Link, Passage, Sentence
from shared.text.analysis import guess_language, sentences, stems, stop_words, words
from shared.text.languages import UNKNOWN
from shared.text.urls import well_formed

#: The share of a sentence's stems a passage must have to be taken for its source.
SHARED = 0.5
#: Words from which on the language of a text is judged.
JUDGED_WORDS = 8
#: Kindred languages share so many of their function words that neither is surely another than the other.
KINDRED = 0.6
#: What an answer is worth, of 10, when every sentence names its passage and the model gave no rating.
UNRATED = 7


def compose(
    content: str, written: Written, markers: Markers, passages: Sequence[Passage], *, language: str, max_links: int
) -> Draft:
    """The draft whose content is exactly `content`, which was streamed under `markers`."""
    found = segments(content)
    named = {citation: passage for passage, citation in markers.numbers.items()}
    explicit = sum(1 for segment in found if any(number in named for number in segment.numbers))
    numbered = [_numbers(segment, named, written, markers, passages, language) for segment in found]
    citations = _citations(found, numbered, written, markers, passages)
    answer = Answer(
        content=content,
        sentences=tuple(
            Sentence(text=segment.text, citations=numbers) for segment, numbers in zip(found, numbered, strict=True)
        ),
        links=links([passages[number - 1] for number in markers.numbers], max_links),
    )
    rated = written.confidence
    if rated is None:
        rated = round(UNRATED * explicit / len(found), 1) if found else 0.0
    if written.scope and not explicit:
        # Says only that the question belongs elsewhere; what states something must stand in a passage.
        answer = answer.model_copy(update={"type": "refusal", "payload": {"scope": written.scope}, "links": ()})
        citations = ()
    return Draft(answer, citations, rated, named=explicit > 0)


def links(passages: Sequence[Passage], most: int) -> tuple[Link, ...]:
    """The pages of the passages, each once, in their order."""
    pages = {p.url: Link(url=p.url, title=p.title) for p in reversed(passages) if well_formed(p.url)}
    return tuple(reversed(pages.values()))[:most]


def other_language(content: str, language: str) -> str:
    """The language the text is in when it is surely another one than `language`; else empty."""
    if not stop_words(language) or len(words(content)) < JUDGED_WORDS:
        return ""  # nothing can be said of a language whose function words are not known
    found, said = guess_language(content), words(content)
    if found in (UNKNOWN, language):
        return ""
    votes = {code: sum(word in stop_words(code) for word in said) for code in (found, language)}
    return "" if votes[language] >= KINDRED * votes[found] else found


def _numbers(
    segment: Segment,
    named: dict[int, int],
    written: Written,
    markers: Markers,
    passages: Sequence[Passage],
    language: str,
) -> tuple[int, ...]:
    """The citations of a sentence."""
    numbers = tuple(number for number in segment.numbers if number in named)
    if numbers:
        return numbers
    passage = _closest(segment.text, passages, language) or _proposed(written, passages)
    if passage is None and len(named) == 1:
        (passage,) = named.values()
    return () if passage is None else (markers.number(passage),)


def _closest(text: str, passages: Sequence[Passage], language: str) -> int | None:
    """The number of the passage that shares most of the sentence's stems, if it shares enough."""
    said = frozenset(stems(text, language))
    shares = [
        (len(said & passage_stems(passage.text, passage.language if passage.language != UNKNOWN else language)), -at)
        for at, passage in enumerate(passages, start=1)
    ]
    if not said or not shares:
        return None
    most, number = max(shares)
    return -number if most >= SHARED * len(said) else None


def _proposed(written: Written, passages: Sequence[Passage]) -> int | None:
    """The passage of the page that the model named as its source."""
    wanted = _bare(written.citation_url)
    return next((at for at, one in enumerate(passages, start=1) if wanted and _bare(one.url) == wanted), None)


def _citations(
    found: Sequence[Segment],
    numbered: Sequence[tuple[int, ...]],
    written: Written,
    markers: Markers,
    passages: Sequence[Passage],
) -> tuple[Citation, ...]:
    citations = []
    main = _proposed(written, passages)
    for passage_number, number in sorted(markers.numbers.items(), key=lambda one: one[1]):
        passage = passages[passage_number - 1]
        text = next((s.text for s, numbers in zip(found, numbered, strict=True) if number in numbers), "")
        heading = written.citation_head if passage_number == main else ""
        citations.append(
            Citation(
                number=number,
                source=passage.source,
                passage=passage.id,
                title=heading or passage.title,
                url=passage.url if well_formed(passage.url) else "",
                quote=quote(text, passage),
            )
        )
    return tuple(citations)


def quote(text: str, passage: Passage) -> str:
    """The sentence of the passage nearest to the text, as it stands there; empty when none has a word of it."""
    said = frozenset(stems(text, passage.language))
    best, at = 0, ""
    for start, end in sentences(passage.text):
        shared = len(said & passage_stems(passage.text[start:end], passage.language))
        if shared > best:
            best, at = shared, passage.text[start:end]
    return at


@lru_cache(maxsize=4096)
def passage_stems(text: str, language: str) -> frozenset[str]:
    return frozenset(stems(text, language))


def _bare(url: str) -> str:
    """To compare addresses by: no fragment, no slash at the end."""
    return url.split("#", 1)[0].rstrip("/")
