"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.runtime.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Url = Annotated[str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)]
Data = Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
DATA = Path("data")

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def bus_settings(nats_url: str, data: Path) -> Settings:
    """Process settings with the bus of `--nats-url`, else that of the platform that runs on the data directory."""
    from pydantic import ValidationError

    from cli.host.data_dir import DataDir
    from cli.output import fail
    from shared.runtime.settings import Settings

    running = None if nats_url else DataDir(data).running()
    url = nats_url or (running.nats_url if running else "")
    try:
        return Settings(data_dir=data, nats_url=url) if url else Settings(data_dir=data)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        fail(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}")


def seconds(text: str) -> float:
    """`90s`, `30m`, `2h` or `1d` in seconds; anything else is a wrong command line."""
    from cli.output import fail

    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not found:
        fail(f"{text}: expected a span of time such as 90s, 30m, 2h or 1d", 2)
    return float(found[1]) * _UNITS[found[2]]
