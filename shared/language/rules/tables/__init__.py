"""Questions about tables: read from passages (`table`), understood (`question`), computed (`query`). Pure."""
