"""`answerbus dead list|show|edit|retry|drop`."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import DATA, Data, Json, NatsUrl, Since, Until, Yes, bus_settings, lane_option, moment

if TYPE_CHECKING:
    from shared.bus.ports import DeadLetter, DeadLetterFilter, DeadLetters
    from shared.operations.dead_letters import DeadLetterManager

app = typer.Typer(help="Dead letters: events that no worker could process.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(help="Number of the dead letter.", min=1)]
Numbers = Annotated[
    list[int] | None, typer.Argument(help="Numbers of dead letters; without any, all that match the options.")
]
Stage = Annotated[str, typer.Option(help="Only dead letters of this stage.")]
Kind = Annotated[str, typer.Option(help="Only of this kind: expired, max_deliveries, invalid_event, ...")]
Cid = Annotated[str, typer.Option(help="Only of this question, by its id.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters.")]

COLUMNS = ("number", "time", "stage", "fact", "kind", "lane", "id", "error")


@app.command("list")
def list_letters(
    stage: Stage = "",
    kind: Kind = "",
    cid: Cid = "",
    since: Since = "",
    before: Until = "",
    limit: Annotated[int, typer.Option(help="How many at most, oldest first; 0: all.", min=0)] = 1000,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """List dead letters: stage, time and reason, without their payloads."""
    from cli.output import print_json, table
    from shared.history.dead_letters import collected, listed

    criteria = _criteria(stage, kind, cid, since, before)
    letters = _read_letters(nats_url, data, lambda letters: collected(letters, [], criteria, limit))
    rows_json = [listed(letter) for letter in letters]
    if as_json:
        print_json(rows_json)
        return
    rows = [[str(row[name])[:19] if name == "time" else row[name] for name in COLUMNS] for row in rows_json]
    table(f"{len(rows)} dead letters", COLUMNS, rows)


@app.command("show")
def show(
    number: Number,
    full: Annotated[bool, typer.Option("--full", help="Include texts, except unmoderated ones.")] = False,
    payload: Annotated[bool, typer.Option("--payload", help="Print only the payload, for `dead edit`.")] = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Show one dead letter: its event, the reason and the stack trace; texts only with --full."""
    from cli.output import print_json
    from shared.bus.ports import DeadLetterFilter
    from shared.history.dead_letters import collected, shown
    from shared.text.sanitizer import visible

    (letter,) = _read_letters(nats_url, data, lambda letters: collected(letters, [number], DeadLetterFilter()))
    document = shown(letter, full=full or payload)
    if payload:
        print_json(document["payload"])
        return
    if as_json:
        print_json(document)
        return
    for name in ("number", "time", "stage", "fact", "kind", "error", "lane", "id", "subject", "edited"):
        print(f"{name:<8} {visible(str(document[name]))}")
    print(visible(document["stack"]).rstrip())
    print_json(document["payload"])


@app.command("edit")
def edit(
    number: Number,
    file: Annotated[str, typer.Argument(help="The whole payload as JSON; - reads standard input.")],
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Replace the payload of a dead letter, checked against the fact's schema; retry it under its new number."""
    from cli.output import fail, print_json

    try:
        document = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{file}: {getattr(error, 'strerror', None) or 'not JSON'}", 2)
    if not isinstance(document, dict):
        fail(f"{file}: expected a JSON object with the whole payload", 2)

    async def work(manager: DeadLetterManager) -> int:
        return await manager.edit(await manager.letters.get(number), document)

    new = _with_manager(nats_url, data, work)
    if as_json:
        print_json({"number": new, "before": number})
        return
    print(f"dead letter {new} replaces {number}; to retry it: answerbus dead retry {new}")


@app.command("retry")
def retry(
    numbers: Numbers = None,
    stage: Stage = "",
    kind: Kind = "",
    cid: Cid = "",
    since: Since = "",
    before: Until = "",
    every: All = False,
    lane: Annotated[str, typer.Option(help="live or background; default: the lane of the event.")] = "",
    newest: Annotated[bool, typer.Option("--newest", help="Use the newest revision of the pipeline.")] = False,
    deadline: Annotated[float, typer.Option(help="New deadline in seconds; 0: as the pipeline says.", min=0)] = 0,
    yes: Yes = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Publish the events again.

    A step of a question becomes a question of its own, because the original question has ended for its asker.
    """
    from shared.operations.dead_letters import RetryOptions

    options = RetryOptions(lane_option(lane), newest, deadline)

    async def work(manager: DeadLetterManager, letter: DeadLetter) -> dict[str, Any]:
        return vars(await manager.retry(letter, options))

    criteria = _criteria(stage, kind, cid, since, before)
    _for_each("Retry", numbers, criteria, every, yes, nats_url, data, as_json, work)


@app.command("drop")
def drop(
    numbers: Numbers = None,
    stage: Stage = "",
    kind: Kind = "",
    cid: Cid = "",
    since: Since = "",
    before: Until = "",
    every: All = False,
    yes: Yes = False,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Delete dead letters permanently."""

    async def work(manager: DeadLetterManager, letter: DeadLetter) -> dict[str, Any]:
        await manager.drop(letter)
        return {"number": letter.number, "fact": letter.fact, "id": letter.correlation_id}

    criteria = _criteria(stage, kind, cid, since, before)
    _for_each("Drop", numbers, criteria, every, yes, nats_url, data, as_json, work)


def _criteria(stage: str, kind: str, cid: str, since: str, before: str) -> DeadLetterFilter:
    """What to filter by; a value that cannot match anything ends the command."""
    from cli.output import fail
    from shared.bus.ports import DeadLetterFilter
    from shared.contracts.subjects import is_correlation_id

    if stage and not (stage.isascii() and stage.isalpha()):
        fail(f"--stage {stage}: the name of a stage has only letters", 2)
    if cid and not is_correlation_id(cid):
        fail(f"--cid {cid}: a question's id has 32 hexadecimal digits", 2)
    return DeadLetterFilter(stage, kind, cid, moment(since), moment(before))


def _for_each(
    verb: str,
    numbers: list[int] | None,
    criteria: DeadLetterFilter,
    every: bool,
    yes: bool,
    nats_url: str,
    data: Path,
    as_json: bool,
    work: Callable[[DeadLetterManager, DeadLetter], Awaitable[dict[str, Any]]],
) -> None:
    """Change each letter; one that cannot be changed is reported, the others go on, and the exit code is 1."""
    from cli.output import fail, print_json
    from shared.contracts.errors import NotFoundError, RefusedError
    from shared.history.dead_letters import collected

    if not numbers and not every and criteria == type(criteria)():
        fail(
            f"name the dead letters to {verb.lower()}: numbers, --stage, --kind, --cid, --since, --before or --all",
            2,
        )

    async def change_all(manager: DeadLetterManager) -> tuple[list[dict[str, Any]], list[str]]:
        letters = await collected(manager.letters, numbers or [], criteria)
        _confirm(verb, letters, yes or bool(numbers))
        done, failed = [], []
        for letter in letters:
            try:
                done.append(await work(manager, letter))
            except (RefusedError, NotFoundError) as error:
                failed.append(str(error))
        return done, failed

    done, failed = _with_manager(nats_url, data, change_all)
    if as_json:
        print_json({"done": done, "failed": failed})
    else:
        for edited in done:
            print(" ".join(f"{key}={value}" for key, value in edited.items() if value != ""))
    for line in failed:
        print(f"answerbus: {line}", file=sys.stderr)
    raise SystemExit(1 if failed else 0)


def _confirm(verb: str, letters: list[DeadLetter], yes: bool) -> None:
    """Ask before dead letters are changed that were not named one by one; without a terminal, --yes is needed."""
    from collections import Counter

    from cli.output import fail

    if yes or not letters:
        return
    counts = Counter(letter.stage for letter in letters).most_common()
    by_stage = ", ".join(f"{count} of {stage}" for stage, count in counts)
    if not sys.stdin.isatty():
        fail(f"{verb.lower()} {len(letters)} dead letters ({by_stage})? Confirm with --yes", 2)
    typer.confirm(f"{verb} {len(letters)} dead letters ({by_stage})?", abort=True)


def _read_letters(
    nats_url: str, data: Path, work: Callable[[DeadLetters], Awaitable[list[DeadLetter]]]
) -> list[DeadLetter]:
    from cli.operations.operator_session import dead_letter_reader
    from cli.output import run

    async def connected() -> list[DeadLetter]:
        async with dead_letter_reader(bus_settings(nats_url, data)) as letters:
            return await work(letters)

    return run(connected)


def _with_manager(nats_url: str, data: Path, work: Callable[[DeadLetterManager], Awaitable[Any]]) -> Any:
    from cli.operations.operator_session import dead_letter_manager
    from cli.output import run

    async def connected() -> Any:
        async with dead_letter_manager(bus_settings(nats_url, data)) as manager:
            return await work(manager)

    return run(connected)
