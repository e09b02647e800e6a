"""One reader per media type: from bytes to plain text in blocks."""
