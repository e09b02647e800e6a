"""`python -m tests.fuzz`: hostile documents and requests against a platform; prints figures, fails if one is missed."""

from __future__ import annotations

import argparse
import asyncio

from tests.fuzz import documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="documents")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    figures = asyncio.run(documents.run(arguments.count, arguments.seed))
    print(documents.report(figures))
    if misses := figures.misses():
        raise SystemExit("missed: " + "; ".join(misses))


if __name__ == "__main__":
    main()
