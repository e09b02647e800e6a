"""File names to media types: what can be collected, and so what there should be a reader for."""

from __future__ import annotations

JSON_LINES = "application/jsonl"
PLAIN = "text/plain"
TABLES = ("text/csv", "text/tab-separated-values")
_OFFICE = "application/vnd.openxmlformats-officedocument"

#: Read as source code: suffix -> the last part of `text/x-…`.
_CODE = {
    **{".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".hh": "c++", ".hpp": "c++", ".cs": "csharp"},
    **{".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript"},
    **{".ts": "typescript", ".tsx": "typescript", ".java": "java", ".kt": "kotlin", ".scala": "scala", ".go": "go"},
    **{".rs": "rust", ".rb": "ruby", ".php": "php", ".swift": "swift", ".lua": "lua", ".pl": "perl", ".r": "r"},
    **{".sql": "sql", ".sh": "sh", ".bash": "sh", ".ps1": "powershell", ".ex": "elixir", ".exs": "elixir"},
    **{".proto": "protobuf", ".graphql": "graphql", ".tf": "terraform"},
}

MEDIA_TYPES: dict[str, str] = {
    ".csv": "text/csv",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".htm": "text/html",
    ".html": "text/html",
    ".jsonl": JSON_LINES,
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".ndjson": JSON_LINES,
    ".pdf": "application/pdf",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".rst": "text/x-rst",
    ".text": PLAIN,
    ".tsv": "text/tab-separated-values",
    ".txt": PLAIN,
    ".xhtml": "application/xhtml+xml",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    **{suffix: f"text/x-{name}" for suffix, name in _CODE.items()},
}


def is_text(media_type: str) -> bool:
    """Whether it can be read in parts: lines of text, with no frame around the whole."""
    return media_type.startswith("text/") and media_type != "text/html"
