"""`python -m tests.bench.regression`: fails where the platform has become slower than what `ratios.json` says.

What is compared are multiples of the raw chain, measured in the same minute on the same machine: a slow machine, or
other work beside it, slows both. Of three rounds the best counts, and only a ratio worse than 0.8 of the committed one
fails. `--write` commits new ones: the medians of five rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import uvloop

from . import against_raw
from .report import Section
from .worlds import made_up

COMMITTED = Path(__file__).with_name("ratios.json")
ROUNDS, ROUNDS_TO_WRITE = 3, 5
DOCUMENTS = 1000
#: The worst share of a committed ratio that passes.
WORST = 0.8


def faults(measured: dict[str, float], committed: dict[str, float]) -> list[str]:
    """What is worse than it may be, each as a sentence; throughput is better the higher it is, all else the lower."""
    found = []
    for name, before in committed.items():
        now = measured[name]
        quality = now / before if name == against_raw.RATE else before / now
        if quality < WORST:
            found.append(
                f"{name}: {now:.2f} × the raw chain, {before:.2f} × before; {quality:.2f} of it, at least {WORST}"
            )
    return found


def best(section: Section) -> dict[str, float]:
    """The best ratio of any round for each measure; a round's platform is set against the same round's raw chain."""
    found = {}
    for name in section.measures:
        pairs = zip(section.runs[against_raw.PLATFORM][name], section.runs[against_raw.RAW][name], strict=True)
        found[name] = (max if name == against_raw.RATE else min)(platform / raw for platform, raw in pairs)
    return found


def comparable(committed: dict[str, Any], cores: int) -> dict[str, float]:
    """The committed ratios that can be compared on so many cores: with others, throughput has another bottleneck."""
    ratios = dict(committed["ratios"])
    if committed["cores"] != cores:
        del ratios[against_raw.RATE]
    return ratios


def corpus(root: Path) -> tuple[list[str], Path]:
    """A thousand made-up documents and questions about them: the same wherever this runs."""
    articles, asked = made_up()
    lines = ({"source": one.source, "title": one.title, "text": one.text} for one in articles[:DOCUMENTS])
    documents = root / "documents.jsonl"
    documents.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return [one.text for one in asked[:DOCUMENTS]], documents


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.regression", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--write", action="store_true", help="commit the ratios measured now")
    if parser.parse_args().write:
        section, _ = uvloop.run(
            against_raw.compare(rounds=ROUNDS_TO_WRITE, quick=False, say=print, documents_of=corpus)
        )
        ratios = {name: round(value, 3) for name, value in against_raw.ratios(section).items()}
        COMMITTED.write_text(json.dumps({"cores": os.cpu_count(), "ratios": ratios}, indent=2) + "\n")
        return
    committed = comparable(json.loads(COMMITTED.read_text()), os.cpu_count() or 1)
    measured = best(uvloop.run(against_raw.compare(rounds=ROUNDS, quick=True, say=print, documents_of=corpus))[0])
    found = faults(measured, committed)
    for name, before in committed.items():
        print(f"{name}: {measured[name]:.2f} × the raw chain (committed: {before:.2f})")
    if found:
        sys.exit("slower than committed:\n  " + "\n  ".join(found))


if __name__ == "__main__":
    main()
