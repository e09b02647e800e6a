"""`python -m tests.agreement`: asks varied questions over every protocol; fails if one of them shows another ending."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.agreement import WAYS, Agreement, compare, faces_with_models, protocols
from tests.support.varied_questions import QUESTIONS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=len(QUESTIONS), help="questions, from every kind alike")
    count = parser.parse_args().count
    found = asyncio.run(_run(count))
    told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.outcomes.items()))
    print(f"{found.outcomes.total()} questions ({told}), each over {', '.join(WAYS)}")
    if found.differences:
        raise SystemExit("missed: " + "\n".join(found.differences))
    print("text, citations and outcome are the same everywhere")


async def _run(count: int) -> Agreement:
    step = max(1, len(QUESTIONS) // max(1, count))
    with TemporaryDirectory(prefix="answerbus-agreement-") as folder:
        async with faces_with_models(Path(folder)) as faces, protocols(faces) as clients:
            return await compare(clients, QUESTIONS[::step][:count], say=lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
