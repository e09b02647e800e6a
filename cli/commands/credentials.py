"""`answerbus bus credentials`: a key per service, and what the server lets each do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def credentials(
    out: Annotated[Path, typer.Option("--out", help="Folder for the seeds and the server's file of users.")],
    rotate: Annotated[
        list[str] | None, typer.Option(help="USER that gets a new seed, or `all`; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Make a user for each service, an operator and an injector; seeds that are there are kept."""
    from cli.host.catalogue import STAGES, stages
    from cli.operations.credentials import USERS_FILE, Issued, issue
    from cli.output import print_json, run, table
    from shared.runtime.permissions import INJECTOR, OPERATOR

    wanted = [*STAGES, OPERATOR, INJECTOR] if rotate and "all" in rotate else rotate or []

    async def work() -> list[Issued]:
        return issue(out, stages(), rotate=wanted)

    issued = run(work)
    rows = [
        {"user": one.user, "seed": one.did, "file": str(one.seed_file), "public_key": one.public_key} for one in issued
    ]
    if as_json:
        print_json(rows)
        return
    table("credentials", ["user", "seed", "file", "public key"], [list(row.values()) for row in rows])
    print(f"include {out / USERS_FILE} in the server's configuration and reload the server")
