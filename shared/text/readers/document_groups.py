"""The groups that a document says it is for: `access_groups` in its front matter, field list or meta elements."""

from __future__ import annotations

from shared.contracts.document_access import GROUPS_FIELD, group_names
from shared.contracts.errors import DocumentError


def declared_groups(value: object) -> tuple[str, ...]:
    """The groups of a list of names, or of a text with commas between them.

    Raises:
        DocumentError: it is neither, or names no group: nobody can tell then whom the document is for.
    """
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise unreadable_groups("give a list of names, or leave it out for everybody")
    try:
        return group_names(names)
    except ValueError as error:
        raise unreadable_groups(str(error)) from None


def unreadable_groups(reason: str) -> DocumentError:
    """The error of a document whose groups cannot be read: it must not be taken for one that is for everybody."""
    return DocumentError(f"{GROUPS_FIELD} of this document cannot be read: {reason}")
