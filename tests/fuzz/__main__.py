"""`python -m tests.fuzz`: read hostile documents, print the figures, fail if one was fatal."""

from __future__ import annotations

import argparse
import asyncio

from shared.runtime.settings import Settings
from tests.support.hostile_run import run

MOST_GROWN_MB = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    settings = Settings()
    done = asyncio.run(run(arguments.count, arguments.seed, settings))
    for outcome, number in sorted(done.outcomes.items()):
        print(f"{number:5} {outcome}")
    for reason, number in done.reasons.most_common():
        print(f"{number:5} {reason}")
    seconds, late = sorted(done.seconds.values()), sorted(done.late)
    print(f"seconds: median {seconds[len(seconds) // 2]:.2f}, slowest {done.slowest[0]} {done.slowest[1]:.1f}")
    print(f"event loop late: p99 {late[len(late) * 99 // 100] * 1e3:.0f} ms, most {late[-1] * 1e3:.0f} ms")
    print(f"the worker grew by {done.grown_mb:.0f} MB")
    if done.grown_mb > MOST_GROWN_MB:
        raise SystemExit(f"it may grow by {MOST_GROWN_MB} MB")


if __name__ == "__main__":
    main()
