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

_OPEN = "application/vnd.oasis.opendocument"

MEDIA_TYPES: dict[str, str] = {
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".cfg": PLAIN,
    ".conf": PLAIN,
    ".csv": "text/csv",
    ".docm": f"{_OFFICE}.wordprocessingml.document",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".eml": "message/rfc822",
    ".epub": "application/epub+zip",
    ".htm": "text/html",
    ".html": "text/html",
    ".ini": PLAIN,
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".jsonl": JSON_LINES,
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".log": PLAIN,
    ".mbox": "application/mbox",
    ".mdx": "text/mdx",
    ".msg": "application/vnd.ms-outlook",
    ".ndjson": JSON_LINES,
    ".odp": f"{_OPEN}.presentation",
    ".ods": f"{_OPEN}.spreadsheet",
    ".odt": f"{_OPEN}.text",
    ".pdf": "application/pdf",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".rst": "text/x-rst",
    ".rtf": "application/rtf",
    ".srt": "application/x-subrip",
    ".tar": "application/x-tar",
    ".text": PLAIN,
    ".tgz": "application/gzip",
    ".gz": "application/gzip",
    ".toml": "application/toml",
    ".tsv": "text/tab-separated-values",
    ".txt": PLAIN,
    ".vtt": "text/vtt",
    ".xhtml": "application/xhtml+xml",
    ".xlsm": f"{_OFFICE}.spreadsheetml.sheet",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zip": "application/zip",
    **{suffix: f"text/x-{name}" for suffix, name in _CODE.items()},
}


def plain_type(media_type: str) -> str:
    """The media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_text(media_type: str) -> bool:
    """Whether it can be read in parts: lines of text, with no frame around the whole."""
    return media_type.startswith("text/") and media_type != "text/html"
