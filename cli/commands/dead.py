"""`answerbus dead list|show|edit|retry|drop`."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cli.operations.dead_letters import Letters
    from shared.bus.ports import DeadLetter, DeadLetterFilter, DeadLetters
    from shared.runtime.settings import Settings

dead_app = typer.Typer(help="Dead letters: events that could not be worked on.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(help="The letter's number.", min=1)]
Numbers = Annotated[list[int] | None, typer.Argument(help="Letters' numbers; none: all that the options name.")]
Stage = Annotated[str, typer.Option(help="Only of this stage.")]
Kind = Annotated[str, typer.Option(help="Only of this kind: expired, max_deliveries, invalid_event, ...")]
Cid = Annotated[str, typer.Option(help="Only of this question.")]
Since = Annotated[str, typer.Option(help="Only younger than this: 30m, 2h, 7d.")]
Before = Annotated[str, typer.Option(help="Only older than this.")]
All = Annotated[bool, typer.Option("--all", help="Every letter there is.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
Data = Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")]
DATA = Path("data")

COLUMNS = ("number", "time", "stage", "fact", "kind", "lane", "id", "error")


@dead_app.command("list")
def list_letters(
    stage: Stage = "",
    kind: Kind = "",
    cid: Cid = "",
    since: Since = "",
    before: Before = "",
    limit: Annotated[int, typer.Option(help="At most so many, oldest first; 0: all.", min=0)] = 1000,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Where, when and why; nothing of what they say."""
    from cli.output import print_json, table
    from shared.history.dead_letters import collected, listed

    wanted = _wanted(stage, kind, cid, since, before)
    letters = _looked_at(nats_url, data, lambda letters: collected(letters, [], wanted, limit))
    found = [listed(letter) for letter in letters]
    if as_json:
        print_json(found)
        return
    rows = [[str(one[name])[:19] if name == "time" else one[name] for name in COLUMNS] for one in found]
    table(f"{len(rows)} dead letters", COLUMNS, rows)


@dead_app.command("show")
def show(
    number: Number,
    full: Annotated[bool, typer.Option("--full", help="The texts too; never what nobody has moderated.")] = False,
    payload: Annotated[bool, typer.Option("--payload", help="Only the payload, as `dead edit` takes it.")] = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """One letter: the event, the reason and where in the code; texts only with --full."""
    from cli.output import print_json
    from shared.bus.ports import DeadLetterFilter
    from shared.history.dead_letters import collected, shown
    from shared.text.sanitizer import visible

    (letter,) = _looked_at(nats_url, data, lambda letters: collected(letters, [number], DeadLetterFilter()))
    story = shown(letter, full=full or payload)
    if payload:
        print_json(story["payload"])
        return
    if as_json:
        print_json(story)
        return
    for name in ("number", "time", "stage", "fact", "kind", "error", "lane", "id", "subject", "edited"):
        print(f"{name:<8} {visible(str(story[name]))}")
    print(visible(story["stack"]).rstrip())
    print_json(story["payload"])


@dead_app.command("edit")
def edit(
    number: Number,
    file: Annotated[str, typer.Argument(help="The whole payload as JSON; - reads standard input.")],
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Put another payload into a letter, checked against the fact's schema; then retry it under its new number."""
    from cli.output import fail, print_json

    try:
        document = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{file}: {getattr(error, 'strerror', None) or 'not JSON'}", 2)
    if not isinstance(document, dict):
        fail(f"{file}: a payload is a JSON object", 2)

    async def work(letters: Letters) -> int:
        return await letters.edit(await letters.kept.get(number), document)

    new = _on_the_bus(nats_url, data, work)
    if as_json:
        print_json({"number": new, "before": number})
        return
    print(f"dead letter {new} replaces {number}; to run it: answerbus dead retry {new}")


@dead_app.command("retry")
def retry(
    numbers: Numbers = None,
    stage: Stage = "",
    kind: Kind = "",
    cid: Cid = "",
    since: Since = "",
    before: Before = "",
    every: All = False,
    lane: Annotated[str, typer.Option(help="live or background; default: the one it was in.")] = "",
    newest: Annotated[bool, typer.Option("--newest", help="Under the pipeline's newest revision.")] = False,
    deadline: Annotated[float, typer.Option(help="Seconds it may take; 0: as the pipeline says.", min=0)] = 0,
    yes: Yes = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Say the events again: a step of a question as a question of its own, as the asker was told that it ended."""
    from cli.operations.dead_letters import Order
    from cli.output import fail
    from shared.contracts.domain import Lane

    if lane not in ("", *Lane):
        fail(f"--lane {lane}: live or background", 2)
    order = Order(Lane(lane) if lane else None, newest, deadline)

    async def work(letters: Letters, letter: DeadLetter) -> dict[str, Any]:
        return vars(await letters.retry(letter, order))

    wanted = _wanted(stage, kind, cid, since, before)
    _each("Retry", numbers, wanted, every, yes, nats_url, data, as_json, work)


@dead_app.command("drop")
def drop(
    numbers: Numbers = None,
    stage: Stage = "",
    kind: Kind = "",
    cid: Cid = "",
    since: Since = "",
    before: Before = "",
    every: All = False,
    yes: Yes = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Delete letters for good."""

    async def work(letters: Letters, letter: DeadLetter) -> dict[str, Any]:
        await letters.drop(letter)
        return {"number": letter.number, "fact": letter.fact, "id": letter.correlation_id}

    wanted = _wanted(stage, kind, cid, since, before)
    _each("Drop", numbers, wanted, every, yes, nats_url, data, as_json, work)


def _wanted(stage: str, kind: str, cid: str, since: str, before: str) -> DeadLetterFilter:
    from datetime import UTC, datetime, timedelta

    from cli.durations import seconds_of
    from cli.output import fail
    from shared.bus.ports import DeadLetterFilter
    from shared.contracts.subjects import is_correlation_id

    if stage and not (stage.isascii() and stage.isalpha()):
        fail(f"--stage {stage}: a stage's name is letters only", 2)
    if cid and not is_correlation_id(cid):
        fail(f"--cid {cid}: an id is 32 hexadecimal digits", 2)
    now = datetime.now(UTC)
    moments = [now - timedelta(seconds=seconds_of(text)) if text else None for text in (since, before)]
    return DeadLetterFilter(stage, kind, cid, *moments)


def _each(
    verb: str,
    numbers: list[int] | None,
    wanted: DeadLetterFilter,
    every: bool,
    yes: bool,
    nats_url: str,
    data: Path,
    as_json: bool,
    work: Callable[[Letters, DeadLetter], Awaitable[dict[str, Any]]],
) -> None:
    """Do it to each letter; what cannot be done to one is told, and the others go on. Exit code 1 then."""
    from cli.output import fail, print_json
    from shared.contracts.errors import NotFoundError, RefusedError
    from shared.history.dead_letters import collected

    if not numbers and not every and wanted == type(wanted)():
        fail(f"name letters, narrow them (--stage, --kind, --cid, --since, --before), or say --all: {verb.lower()}", 2)

    async def all_of_them(letters: Letters) -> tuple[list[dict[str, Any]], list[str]]:
        found = await collected(letters.kept, numbers or [], wanted)
        _confirm(verb, found, yes or bool(numbers))
        done, failed = [], []
        for letter in found:
            try:
                done.append(await work(letters, letter))
            except (RefusedError, NotFoundError) as error:
                failed.append(str(error))
        return done, failed

    done, failed = _on_the_bus(nats_url, data, all_of_them)
    if as_json:
        print_json({"done": done, "failed": failed})
    else:
        for one in done:
            print(" ".join(f"{key}={value}" for key, value in one.items() if value != ""))
    for line in failed:
        print(f"answerbus: {line}", file=sys.stderr)
    raise SystemExit(1 if failed else 0)


def _confirm(verb: str, found: list[DeadLetter], yes: bool) -> None:
    """Ask before many letters are changed; a program must say --yes."""
    from collections import Counter

    from cli.output import fail

    if yes or not found:
        return
    told = ", ".join(f"{count} of {name}" for name, count in Counter(one.stage for one in found).most_common())
    if not sys.stdin.isatty():
        fail(f"{verb.lower()} {len(found)} dead letters ({told})? Say --yes", 2)
    typer.confirm(f"{verb} {len(found)} dead letters ({told})?", abort=True)


def _looked_at(
    nats_url: str, data: Path, work: Callable[[DeadLetters], Awaitable[list[DeadLetter]]]
) -> list[DeadLetter]:
    from cli.operations.dead_letters import reading
    from cli.output import run

    async def connected() -> list[DeadLetter]:
        async with reading(_settings(nats_url, data)) as letters:
            return await work(letters)

    return run(connected)


def _on_the_bus(nats_url: str, data: Path, work: Callable[[Letters], Awaitable[Any]]) -> Any:
    from cli.operations.dead_letters import dead_letters
    from cli.output import run

    async def connected() -> Any:
        async with dead_letters(_settings(nats_url, data)) as letters:
            return await work(letters)

    return run(connected)


def _settings(nats_url: str, data: Path) -> Settings:
    from cli.host.data_dir import DataDir
    from shared.runtime.settings import Settings

    running = DataDir(data).running()
    url = nats_url or (running.nats_url if running else "")
    return Settings(nats_url=url, data_dir=data) if url else Settings(data_dir=data)
