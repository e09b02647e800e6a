"""From the bytes of a document to its passages: read (one reader per media type), cut, name."""
