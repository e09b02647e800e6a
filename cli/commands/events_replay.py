"""`answerbus events replay|diff|export|import|inject`: recorded questions, held in the hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import DATA, Data, Json, NatsUrl, Url, bus_settings, seconds

if TYPE_CHECKING:
    from cli.client import Client
    from cli.operations.bulk_replay import Report
    from cli.operations.replay import Order, Replayer
    from shared.contracts.envelope import Event
    from shared.contracts.facts import Fact
    from shared.history.export import ExportedQuestion

Which = Annotated[str, typer.Argument(metavar="ID|FILE", help="A question's id, or an exported file.")]
Start = Annotated[str, typer.Option("--from", help="STAGE or FACT[.ATTEMPT] to begin with; default: the first left.")]
PipelineName = Annotated[str, typer.Option(help="NAME[@REVISION], a folder or a pipeline.yaml; default: the recorded.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="STAGE.KEY=VALUE of the pipeline, for this replay; may be repeated.")
]


def register(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("import")(import_file)
    app.command("diff")(diff)
    app.command("replay")(replay)
    app.command("inject")(inject)


def export(
    question_id: Annotated[str, typer.Argument(metavar="ID", help="The question's id.")],
    raw: Annotated[bool, typer.Option("--raw", help="Also what was typed, before moderation.")] = False,
    url: Url = "",
    data: Data = DATA,
) -> None:
    """Print one question as a file: its facts and its pipeline, to show, compare and replay anywhere."""
    from cli.host.target import client
    from cli.output import run
    from shared.text.sanitizer import escaped

    async def work() -> ExportedQuestion:
        async with client(url, data, quiet=True) as here:
            return await _exported(here, question_id, raw=raw)

    print(escaped(run(work).encode()), end="")


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An exported question.")],
    nats_url: NatsUrl = "",
    data: Data = DATA,
) -> None:
    """Put an exported question into the log, under its own id on the background lane; no stage acts on it."""
    from cli.operations.event_writer import put_into_log
    from cli.operations.operator_session import operator_session
    from cli.output import run

    settings = bus_settings(nats_url, data)

    async def work() -> tuple[str, int]:
        question = _read(file)
        async with operator_session(settings) as here:
            return question.id, await put_into_log(here, question)

    cid, count = run(work)
    print(f"{cid}: {count} events imported; answerbus events show {cid}")


def diff(
    left: Which,
    right: Which,
    url: Url = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Two questions side by side: passages gained and lost, the answer by words, scores, tokens, time."""
    from cli.operations.diff_view import show_difference
    from cli.output import print_json, run
    from shared.history.diff import difference

    async def work() -> list[list[Event[Fact]]]:
        files = [_read_file(Path(one)) for one in (left, right)]
        if all(files):
            return [one.decoded() for one in files if one]
        from cli.host.target import client

        async with client(url, data, quiet=True) as here:
            pairs = zip((left, right), files, strict=True)
            return [(file or await _exported(here, which, raw=True)).decoded() for which, file in pairs]

    found = difference(*run(work))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        show_difference(found)


def replay(
    which: Annotated[str, typer.Argument(metavar="[ID|FILE]", help="A question; without one, see --since.")] = "",
    start: Start = "",
    pipeline: PipelineName = "",
    changes: Changes = None,
    edit: Annotated[
        Path | None, typer.Option(help="JSON with other values of the payload; FACT.json names the fact to begin with.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the ending and compare.")] = True,
    since: Annotated[str, typer.Option(help="Replay what ended in the last 90s, 30m, 2h or 1d.")] = "",
    sample: Annotated[int, typer.Option(min=0, help="With --since: at most so many of them; 0: all.")] = 100,
    seed: Annotated[int, typer.Option(help="With --since: which ones.")] = 0,
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Say a recorded fact again under a new id, on the background lane, and show what differs.

    The asker, the caches, the sessions and the statistics do not hear of it.
    """
    from cli.operations.candidates import Choice
    from cli.operations.replay import Order
    from cli.output import fail

    if bool(which) == bool(since):
        fail("replay wants the id of a question, a file, or --since 2h for many", 2)
    if since and edit:
        fail("--edit changes one question; it does not go with --since", 2)
    fact, values = _edit(edit) if edit else ("", None)
    order = Order(start=start or fact, choice=Choice(pipeline, tuple(changes or ())), edit=values)
    settings = bus_settings(nats_url, data)
    if since:
        _replay_many(settings, order, seconds(since), sample, seed, as_json=as_json)
    else:
        _replay_one(settings, which, order, wait=wait, as_json=as_json)


def inject(
    where: Annotated[str, typer.Argument(metavar="SUBJECT|FACT", help="QuestionAsked, or bg.question.asked.")],
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON, JSON lines, or questions by line.")],
    lane: Annotated[str, typer.Option(help="live or background [default: background].")] = "",
    pipeline: Annotated[str, typer.Option(help="Pipeline; default: the server's.")] = "",
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Say any fact, or a file of questions: checked against the schema, and marked as injected."""
    from cli.operations.event_writer import inject_into
    from cli.operations.injection import target
    from cli.operations.operator_session import operator_session
    from cli.output import fail, print_json, run
    from shared.contracts.domain import Lane

    if lane and lane not in tuple(Lane):
        fail(f"--lane {lane}: live or background", 2)
    settings = bus_settings(nats_url, data)

    async def work() -> list[str]:
        to = target(where, Lane(lane) if lane else None)
        text = sys.stdin.read() if file == "-" else _text(Path(file))
        async with operator_session(settings) as here:
            return await inject_into(here, text, to, pipeline or settings.default_pipeline, settings.tenant)

    ids = run(work)
    if as_json:
        print_json(ids)
    else:
        print("\n".join(ids))


def _replay_one(settings: Any, which: str, order: Order, *, wait: bool, as_json: bool) -> None:
    from cli.operations.diff_view import show_difference
    from cli.operations.replay import opened
    from cli.output import fail, print_json, run

    async def work() -> Any:
        async with opened(settings) as replayer:
            return await replayer.replay(await replayer.recording(which), order, wait=wait)

    done = run(work)
    if done.note:
        print(f"answerbus: {done.note}", file=sys.stderr)
    if as_json:
        print_json(done.as_json())
    elif not wait:
        print(done.said.correlation_id)
    else:
        print(f"replay {done.said.correlation_id}, begun with {done.said.fact}.{done.said.attempt}\n")
        show_difference(done.difference)
    if wait and not done.ended:
        fail(f"{done.said.correlation_id} has not ended by its deadline; answerbus stages --all shows what waits")


def _replay_many(settings: Any, order: Order, back: float, sample: int, seed: int, *, as_json: bool) -> None:
    from datetime import UTC, datetime, timedelta

    from cli.operations.bulk_replay import Report, replay_many, sampled
    from cli.operations.diff_view import progress, show_report
    from cli.operations.replay import opened
    from cli.output import print_json, run

    async def replaying(replayer: Replayer, report: Report) -> None:
        ids = await replayer.ended_since(datetime.now(UTC) - timedelta(seconds=back))
        chosen = sampled(ids, sample, seed)
        report.wanted = len(chosen)
        await replay_many(replayer, chosen, order, report, progress=progress)

    async def work() -> None:
        async with opened(settings) as replayer:
            report = Report()
            try:
                await replaying(replayer, report)
            except BaseException:  # also Ctrl-C: what was found out until then is told
                report.stopped = True
                raise
            finally:
                if report.done or not report.stopped:
                    print_json(report.as_json()) if as_json else show_report(report)

    run(work)


def _edit(path: Path) -> tuple[str, dict[str, Any]]:
    """The fact that a file's name (or its `fact`) says, and the values in it."""
    from cli.output import fail
    from shared.contracts.facts import FACTS

    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except ValueError:
        fail(f"{path}: not JSON")
    if not isinstance(document, dict):
        fail(f"{path}: expected an object with values of the payload")
    fact = path.stem if path.stem.partition(".")[0] in FACTS else ""
    if isinstance(document.get("payload"), dict) and document.get("fact") in FACTS:
        return fact or str(document["fact"]), document["payload"]
    return fact, document


def _text(path: Path) -> str:
    from shared.contracts.errors import RefusedError

    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RefusedError(f"{path}: not UTF-8 text") from None


def _read(path: Path) -> ExportedQuestion:
    from shared.history.export import read_export

    return read_export(_text(path), str(path))


def _read_file(path: Path) -> ExportedQuestion | None:
    """The question in the file, None when there is none of that name."""
    return _read(path) if path.is_file() else None


async def _exported(here: Client, question_id: str, *, raw: bool) -> ExportedQuestion:
    """A question's export as the gateway makes it.

    Raises:
        NotFoundError: nothing is known of it.
    """
    from shared.history.export import read_export

    told = await here.call("GET", f"/api/v1/events/{question_id}/export", params={"raw": str(raw).lower()})
    return read_export(json.dumps(told), question_id)
