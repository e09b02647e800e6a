"""XML of documents, parsed without entities, network and unbounded trees."""

from __future__ import annotations

from typing import Any

from shared.contracts.errors import DocumentError


def parse_xml(body: bytes) -> Any:
    """The root element.

    Raises:
        DocumentError: it is not XML.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        return etree.fromstring(body, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError(f"this XML is damaged ({str(error)[:200]}); submit a repaired copy") from None


def local_name(element: Any) -> str:
    """The name of an element without its namespace; empty for comments and the like."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def text_of(element: Any) -> str:
    """All text within an element."""
    return "".join(element.itertext())
