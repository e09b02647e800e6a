"""How many small faults in services/ and shared/ a command notices.

    python -m tests.mutants --count 60 --seed 1 -- make check

Each mutant is one change of one expression, made in a work tree of its own at HEAD; a command that fails has killed it.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutate import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 3600


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+", help="after --; its exit status tells whether the mutant lives")
    given = parser.parse_args()
    drawn = draw(given.count, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(tree), "HEAD")
        try:
            (tree / ".venv").symlink_to(ROOT / ".venv")
            killed = sum(kills(tree, mutant, given.command) for mutant in drawn)
        finally:
            git("worktree", "remove", "--force", str(tree))
    print(f"{killed} of {len(drawn)} mutants killed by {' '.join(given.command)} (seed {given.seed})")
    return 0


def draw(count: int, seed: int) -> list[Mutant]:
    """So many mutants, each of a file of its own as long as there are enough."""
    chance = random.Random(seed)
    files = sorted(path for name in ("services", "shared") for path in (ROOT / name).rglob("*.py"))
    chance.shuffle(files)
    found: list[Mutant] = []
    for path in files:
        possible = mutants(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        if possible and len(found) < count:
            found.append(chance.choice(possible))
    return found


def kills(tree: Path, mutant: Mutant, command: list[str]) -> bool:
    path = tree / mutant.path
    before = path.read_text("utf-8")
    path.write_text(mutant.text, "utf-8")
    try:
        dead = subprocess.run(command, cwd=tree, capture_output=True, timeout=SECONDS, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        dead = True
    finally:
        path.write_text(before, "utf-8")
    print(f"{'killed' if dead else 'LIVES '} {mutant.path}:{mutant.line} {mutant.change}", flush=True)
    return dead


def git(*command: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *command], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
