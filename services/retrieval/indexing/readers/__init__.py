"""One reader per media type: from bytes to plain text and its blocks."""
