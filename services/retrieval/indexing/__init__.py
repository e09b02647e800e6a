"""From the bytes of a document to its passages: parse by media type, split, title."""
