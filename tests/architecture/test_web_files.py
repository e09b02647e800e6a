"""The built files of the chat page and the console are those of their sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

from services.gateway.server.web_pages import FOLDER

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
#: As `clients/web/vite.config.ts` names them.
SOURCES = ("index.html", "console.html", "package-lock.json", "vite.config.ts", "public", "src", "../typescript/src")
#: Types alone, of which nothing is in the built files.
TYPES = "../typescript/src/schema.ts"


def test_the_pages_were_built_from_their_sources() -> None:
    web = CLIENTS / "web"
    paths = []
    for source in SOURCES:
        root = web / source
        found = [root] if root.is_file() else [one for one in root.rglob("*") if one.is_file()]
        paths += [source if one == root else f"{source}/{one.relative_to(root).as_posix()}" for one in found]
    digest = hashlib.sha256()
    for path in sorted(set(paths) - {TYPES}):
        digest.update(f"{path}\n".encode() + (web / path).read_bytes())

    built = (FOLDER / "sources.sha256").read_text().strip()
    assert built == digest.hexdigest(), "build it again with: make clients"
