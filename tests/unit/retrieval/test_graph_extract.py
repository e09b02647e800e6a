"""What a document adds to the graph."""

from __future__ import annotations

import re
import time
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.graph.extract import _acronyms, extract
from services.retrieval.graph.kinds import kind_of, relation_of
from services.retrieval.graph.ports import DocumentGraph
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument
from shared.language.analysis import words


def _extracted(title: str, *texts: str, url: str = "", headings: tuple[str, ...] = ()) -> DocumentGraph:
    titles = [f"{title} — {headings[at]}" if at < len(headings) else title for at in range(len(texts))]
    passages = [Passage(id=str(at), source="kb:x", text=text, title=titles[at]) for at, text in enumerate(texts)]
    return extract(IndexedDocument(source="kb:x", title=title, url=url, collection="c"), passages)


def _names(document_graph: DocumentGraph) -> list[str]:
    return [entity.name for entity in document_graph.entities]


def test_document_defines_its_title_in_its_first_passage() -> None:
    document_graph = _extracted("Tide Table", "Printed every year.", "In June.")
    assert [tuple(each) for each in document_graph.definitions] == [("0", "tide table", 1.0)]
    assert (document_graph.subject, document_graph.own, document_graph.collection) == (
        "tide table",
        {"tide table"},
        "c",
    )
    assert document_graph.texts[1].words == ("in", "june")


@pytest.mark.parametrize(
    ("title", "text", "names"),
    [
        ("Mercury (planet)", "", ["Mercury (planet)", "Mercury"]),
        ("Harbour Safety Board (HSB)", "", ["Harbour Safety Board (HSB)", "Harbour Safety Board", "HSB"]),
        ("HSB (Harbour Safety Board)", "", ["HSB (Harbour Safety Board)", "HSB", "Harbour Safety Board"]),
        ("Ada Whitfield", "An architect, also known as Ada of Leeds, she built.", ["Ada Whitfield", "Ada of Leeds"]),
        ("Ada Whitfield", 'Better known as "The Builder".', ["Ada Whitfield", "The Builder"]),
        ("Ville de Lyon", "Une commune, aussi appelée Capitale des Gaules.", ["Ville de Lyon", "Capitale des Gaules"]),
    ],
)
def test_document_is_known_by_its_other_names_too(title: str, text: str, names: list[str]) -> None:
    document_graph = _extracted(title, text or "Text.")
    assert _names(document_graph) == names
    assert document_graph.own == {entity.key for entity in document_graph.entities}


def test_address_of_a_document_is_a_name_that_links_mention() -> None:
    document_graph = _extracted("Tide Table", "Text.", url="https://www.example.org/tides")
    assert "example org tides" in {entity.key for entity in document_graph.entities}
    assert "example org tides" in " ".join(words("see https://www.example.org/tides for more"))


def test_headings_are_names_of_what_stands_under_them_but_generic_ones_are_not() -> None:
    document_graph = _extracted(
        "Guide", "a", "b", "c", "d", headings=("Introduction", "Tide Gates", "Tide Gates", "Usage")
    )
    assert [tuple(each) for each in document_graph.definitions] == [("0", "guide", 1.0), ("1", "tide gates", 0.6)]


def test_terms_are_defined_where_the_text_says_what_they_are() -> None:
    text = "Built in 1931. A tide gate is a barrier. It is a wall. This method is the best. There is a river."
    assert _names(_extracted("Guide", text)) == ["Guide", "tide gate"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the Coastal Rescue Service (CRS) came", ["Coastal Rescue Service", "CRS"]),
        ("we use a content delivery network (CDN)", ["content delivery network", "CDN"]),
        ("Department of Water and Ports (DWP)", ["Department of Water and Ports", "DWP"]),
        ("the river (VERY deep)", []),
        ("some unrelated words here (XYZ)", []),
    ],
)
def test_acronyms_are_names_where_their_letters_agree_with_the_words_before(text: str, names: list[str]) -> None:
    assert _names(_extracted("Guide", text))[1:] == names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Apple trees are a source of fruit.", "Apple trees"),
        ("Theodolites are an instrument of surveyors.", "Theodolites"),
        ("An anchor chain is a line of links.", "anchor chain"),
        ("Lentilles vertes sont des graines.", "Lentilles vertes"),
        ("Une donnée est une information.", "donnée"),
        ("L'usine est un bâtiment.", "usine"),
    ],
)
def test_a_defined_term_keeps_its_first_letters(text: str, name: str) -> None:
    assert name in _names(_extracted("Guide", text))


def test_document_whose_title_is_no_name_has_no_subject() -> None:
    document_graph = _extracted("Introduction", "A tide gate is a barrier.")
    assert (document_graph.subject, document_graph.own) == ("", frozenset())
    assert _names(document_graph) == ["tide gate"]


def test_document_without_passages_adds_nothing() -> None:
    assert _extracted("Tide Table") == DocumentGraph(collection="c")


@pytest.mark.parametrize(
    ("name", "context", "kind"),
    [
        ("Ada Whitfield", "Ada Whitfield was a British architect and writer.", "person"),
        ("Ada Whitfield", "Ada Whitfield (born 1901) built houses.", "person"),
        ("HSB", "HSB is a government agency for ports.", "organization"),
        ("Pyrite", "Pyrite is a Python web framework.", "framework"),
        ("NATS", "NATS is a messaging protocol.", "technology"),
        ("Retry", "Retry is a design pattern.", "pattern"),
        ("Idempotence", "Idempotence is a principle of design.", "concept"),
        ("Lantern House", "Lantern House stands in Leeds.", "other"),
        ("Harbour Police Department", "", "organization"),
    ],
)
def test_kind_of_a_name_follows_its_definition(name: str, context: str, kind: str) -> None:
    assert kind_of(name, context) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("it uses NAME", "uses"),
        ("which depends on the old NAME", "depends_on"),
        ("an extension of NAME", "extends"),
        ("implements NAME", "implements"),
        ("it is part of NAME", "part_of"),
        ("a member of the NAME", "part_of"),
        ("elle dépend de NAME", "depends_on"),
        ("near NAME", "related_to"),
        ("it uses water and is part of NAME", "part_of"),
        ("uses water in all of the many old towns near NAME", "related_to"),
    ],
)
def test_relation_follows_the_nearest_cue_before_the_name(text: str, kind: str) -> None:
    said = words(text)
    assert relation_of(said, said.index("name")) == kind


#: What an acronym with its long form is. As a pattern it is exponential in hyphens, so the code searches differently.
_DEFINITION_OF_ACRONYMS = re.compile(
    r"\b(?P<long>[^\W\d_][\w'’&-]*(?:[ -][\w'’&-]+){1,7}) \((?P<short>[A-Z][A-Z0-9&-]{1,9}s?)\)"
)


@given(st.lists(st.sampled_from(["a", "Bc", "-", "'", "9", " ", " ", ".", "(", " (AB)", " (A-BS)"]), max_size=24))
def test_acronyms_are_found_where_their_definition_says(parts: list[str]) -> None:
    text = "".join(parts)
    expected = [(pair["long"], pair["short"]) for pair in _DEFINITION_OF_ACRONYMS.finditer(text)]
    assert list(_acronyms(text)) == expected


@pytest.mark.parametrize("pump", ["ab-", "ab ", "ab", "AB-cd (", "a (AB) ", "a-b (AB) ", "Ab is a "])
def test_time_to_extract_is_proportional_to_the_text(pump: str) -> None:
    def seconds(size: int) -> float:
        text = f"see ({pump * (size // len(pump))} (ABC) (x"
        return min(timeit.repeat(lambda: _extracted("Tide Table", text), timer=time.thread_time, number=1, repeat=3))

    assert seconds(40_000) < 16 * max(seconds(10_000), 0.005)
