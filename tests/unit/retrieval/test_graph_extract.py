"""What a document adds to the graph."""

from __future__ import annotations

import pytest

from services.retrieval.graph.extract import extract
from services.retrieval.graph.kinds import kind_of, relation_of
from services.retrieval.graph.ports import DocumentGraph
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument
from shared.text.analysis import words


def _graphlet(title: str, *texts: str, url: str = "", headings: tuple[str, ...] = ()) -> DocumentGraph:
    titles = [f"{title} — {headings[at]}" if at < len(headings) else title for at in range(len(texts))]
    passages = [Passage(id=str(at), source="kb:x", text=text, title=titles[at]) for at, text in enumerate(texts)]
    return extract(IndexedDocument(source="kb:x", title=title, url=url, collection="c"), passages)


def _names(graphlet: DocumentGraph) -> list[str]:
    return [entity.name for entity in graphlet.entities]


def test_document_defines_its_title_in_its_first_passage() -> None:
    graphlet = _graphlet("Tide Table", "Printed every year.", "In June.")
    assert [tuple(each) for each in graphlet.definitions] == [("0", "tide table", 1.0)]
    assert (graphlet.subject, graphlet.own, graphlet.collection) == ("tide table", {"tide table"}, "c")
    assert graphlet.texts[1].words == ("in", "june")


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
    graphlet = _graphlet(title, text or "Text.")
    assert _names(graphlet) == names
    assert graphlet.own == {entity.key for entity in graphlet.entities}


def test_address_of_a_document_is_a_name_that_links_mention() -> None:
    graphlet = _graphlet("Tide Table", "Text.", url="https://www.example.org/tides")
    assert "example org tides" in {entity.key for entity in graphlet.entities}
    assert "example org tides" in " ".join(words("see https://www.example.org/tides for more"))


def test_headings_are_names_of_what_stands_under_them_but_generic_ones_are_not() -> None:
    graphlet = _graphlet("Guide", "a", "b", "c", "d", headings=("Introduction", "Tide Gates", "Tide Gates", "Usage"))
    assert [tuple(each) for each in graphlet.definitions] == [("0", "guide", 1.0), ("1", "tide gates", 0.6)]


def test_terms_are_defined_where_the_text_says_what_they_are() -> None:
    text = "Built in 1931. A tide gate is a barrier. It is a wall. This method is the best. There is a river."
    assert _names(_graphlet("Guide", text)) == ["Guide", "tide gate"]


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
    assert _names(_graphlet("Guide", text))[1:] == names


def test_document_whose_title_is_no_name_has_no_subject() -> None:
    graphlet = _graphlet("Introduction", "A tide gate is a barrier.")
    assert (graphlet.subject, graphlet.own) == ("", frozenset())
    assert _names(graphlet) == ["tide gate"]


def test_document_without_passages_adds_nothing() -> None:
    assert _graphlet("Tide Table") == DocumentGraph(collection="c")


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
def test_kind_of_a_name_is_what_the_text_calls_it(name: str, context: str, kind: str) -> None:
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
def test_relation_is_what_the_nearest_words_before_a_name_say(text: str, kind: str) -> None:
    said = words(text)
    assert relation_of(said, said.index("name")) == kind
