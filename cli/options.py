"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import re
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shared.contracts.domain import Lane
    from shared.runtime.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Url = Annotated[str, typer.Option("--url", help="URL of the gateway [env: ANSWERBUS_URL].", show_default=False)]
Data = Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run the platform inside this command.")]
Since = Annotated[str, typer.Option(help="Only from this time on: 90s, 30m, 2h, 7d ago, or 2026-11-20T12:00 (UTC).")]
Until = Annotated[str, typer.Option(help="Only before this time, written as that of --since.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
#: The data directory when neither `--data` nor ANSWERBUS_DATA_DIR names one.
DATA = Path("data")

_TENANT: ContextVar[str] = ContextVar("tenant", default="")
_DURATION = re.compile(r"(\d{1,9}(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def command_tenant() -> str:
    """The tenant that `answerbus --tenant` names for the command that runs; empty: none."""
    return _TENANT.get()


def use_tenant(name: str) -> None:
    """Name the tenant of the command that runs now; empty: none."""
    _TENANT.set(name)


def tenant_on_bus(settings: Settings) -> str:
    """The tenant of a command that acts over NATS itself: the one that is named, else the platform's own.

    A name that no tenant can have ends the command.
    """
    from cli.output import fail
    from shared.contracts.tenants import tenant_name

    try:
        return tenant_name(command_tenant() or settings.tenant)
    except ValueError as error:
        fail(f"--tenant: {error}", 2)


def read_settings(**given: Any) -> Settings:
    """Process settings, overridden by the options that were given; a wrong setting ends the command with one line."""
    from pydantic import ValidationError

    from cli.output import fail_on_setting
    from shared.runtime.settings import Settings

    try:
        return Settings(**{name: value for name, value in given.items() if value not in (None, "")})
    except ValidationError as error:
        fail_on_setting(error)


def bus_settings(nats_url: str, data: Path, **given: Any) -> Settings:
    """Process settings with the servers of `--nats-url`, else of the platform that runs on the data directory."""
    from cli.host.data_dir import DataDir

    running = None if nats_url else DataDir(data).running()
    return read_settings(data_dir=data, nats_url=nats_url or (running.nats_url if running else ""), **given)


def duration_seconds(text: str) -> float:
    """`90s`, `10m`, `2h` or `7d` in seconds; anything else ends the command with exit code 2."""
    from cli.output import fail

    match = _DURATION.fullmatch(text.strip())
    if match is None:
        fail(f"invalid duration {text!r}; use 90s, 10m, 2h or 7d", 2)
    return float(match[1]) * _SECONDS[match[2]]


def moment(text: str) -> datetime | None:
    """A time by how long ago it was (`90s`, `10m`, `2h`, `7d`) or as ISO 8601, in UTC unless it names a zone.

    None for an empty text; anything else ends the command with exit code 2.
    """
    from cli.output import fail

    if not text:
        return None
    if match := _DURATION.fullmatch(text.strip()):
        return datetime.now(UTC) - timedelta(seconds=float(match[1]) * _SECONDS[match[2]])
    try:
        named = datetime.fromisoformat(text.strip())
    except ValueError:
        fail(f"invalid time {text!r}; use 90s, 10m, 2h, 7d, or a time such as 2026-11-20T12:00", 2)
    return named if named.tzinfo else named.replace(tzinfo=UTC)


def seconds_since(text: str) -> float:
    """The seconds since a time as `moment` reads it; 0 for an empty text and a time to come."""
    begin = moment(text)
    return max(0.0, (datetime.now(UTC) - begin).total_seconds()) if begin else 0.0


def lane_option(text: str) -> Lane | None:
    """The lane that `--lane` names, None when it is empty; anything else ends the command with exit code 2."""
    from cli.output import fail
    from shared.contracts.domain import Lane

    if text not in ("", *Lane):
        fail(f"--lane {text}: unknown lane; use live or background", 2)
    return Lane(text) if text else None


def language_option(text: str) -> str:
    """The language that an option names, as it was given; one that is not known ends the command with exit code 2."""
    from cli.output import fail
    from shared.text.languages import LANGUAGES, UNKNOWN, code3

    if text and code3(text) == UNKNOWN:
        known = ", ".join(f"{language.code2} ({language.name})" for language in LANGUAGES)
        fail(f"unknown language {text!r}; use a code or an English name: {known}", 2)
    return text


def comma_separated(text: str) -> list[str]:
    """The values of an option such as `--retrievers bm25,dense`."""
    return [part.strip() for part in text.split(",") if part.strip()]
