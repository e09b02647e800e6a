"""Lists the licences of a CycloneDX document: python deploy/licences.py SBOM > LIST."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def licences(component: dict[str, Any]) -> str:
    """The licences of a component, as it declares them; names of classifiers without an identifier."""
    found = []
    for licence in component.get("licenses", []):
        declared = licence.get("license", {})
        text = licence.get("expression") or declared.get("id") or declared.get("name")
        if text and text not in found:
            found.append(text)
    return " | ".join(found) or "UNKNOWN"


def main(path: Path) -> None:
    """Write a line per component: name, version, licences."""
    document = json.loads(path.read_text("utf-8"))
    for component in sorted(document["components"], key=lambda listed: str(listed["name"]).casefold()):
        sys.stdout.write(f"{component['name']}\t{component.get('version', '')}\t{licences(component)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
