"""The `answerbus` command. Each verb imports what it needs, so that `--help` stays fast."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands.credentials import credentials
from cli.commands.dead import dead_app
from cli.commands.directory import app as directory_app
from cli.commands.documents import kb_app
from cli.commands.evaluate import app as evaluate_app
from cli.commands.evaluate_questions import questions
from cli.commands.evaluate_replay import replay
from cli.commands.evaluate_safety import language, moderation, train_app
from cli.commands.evaluate_similar import similar
from cli.commands.events import app as events_app
from cli.commands.exchanges import app as exchanges_app
from cli.commands.exchanges import stats
from cli.commands.forget import forget
from cli.commands.ingest import ingest
from cli.commands.search import search
from cli.commands.stages import stages_app

app = typer.Typer(
    name="answerbus",
    help="Answers questions from a body of documents as a chain of durable facts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
bus_app = typer.Typer(help="The bus: streams, durables, buckets.", no_args_is_help=True)
pipelines_app = typer.Typer(help="Pipelines: documents of settings and prompts.", no_args_is_help=True)
bus_app.command()(credentials)
app.add_typer(bus_app, name="bus")
app.add_typer(events_app, name="events")
app.add_typer(pipelines_app, name="pipelines")
evaluate_app.command()(questions)
evaluate_app.command()(moderation)
evaluate_app.command()(replay)
evaluate_app.command()(language)
evaluate_app.command()(similar)
app.add_typer(evaluate_app, name="evaluate")
app.add_typer(train_app, name="train")
app.add_typer(directory_app, name="directory")
app.add_typer(kb_app, name="kb")
app.add_typer(dead_app, name="dead")
app.add_typer(stages_app, name="stages")
app.add_typer(exchanges_app, name="exchanges")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Url = Annotated[str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)]
Data = Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run the platform inside this command.")]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
DATA = Path("data")


def _settings(**given: Any) -> Any:
    """Process settings with what the command line gave on top."""
    from pydantic import ValidationError

    from cli.output import fail
    from shared.runtime.settings import Settings

    try:
        return Settings(**{key: value for key, value in given.items() if value not in (None, "")})
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        fail(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}")


@app.command()
def up(
    port: Annotated[int | None, typer.Option(help="Port of the gateway, 0 for any free one [default: 8080].")] = None,
    host: Annotated[
        str, typer.Option(help="Address of the gateway [default: 127.0.0.1]; beyond loopback only with API keys.")
    ] = "",
    data: Data = DATA,
    scale: Annotated[list[str] | None, typer.Option(help="STAGE=N workers of a stage; may be repeated.")] = None,
    nats_url: NatsUrl = "",
    in_process: Annotated[bool, typer.Option("--in-process", help="All stages in one process.")] = False,
) -> None:
    """Start the platform: the bus and a process per stage, until Ctrl-C."""
    import os

    from cli.output import run

    settings = _settings(port=port, host=host, data_dir=data, nats_url=nats_url)
    own_nats = not nats_url and "ANSWERBUS_NATS_URL" not in os.environ
    if in_process:
        from cli.host.up_in_process import up_in_process

        run(lambda: up_in_process(settings, own_nats=own_nats))
        return
    from cli.host.up import parse_scale
    from cli.host.up import up as bring_up

    async def work() -> None:
        await bring_up(settings, parse_scale(scale or [], settings), own_nats=own_nats)

    run(work)


@app.command()
def demo(
    data: Annotated[Path | None, typer.Option("--data", help="Data directory; default: a temporary one.")] = None,
) -> None:
    """Start the platform, ingest its own documentation, ask three questions, show one's events, stop."""
    from cli.operations.demo import demo as show
    from cli.output import run

    run(lambda: show(data))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline; default: the server's.")] = "",
    conversation: Annotated[str, typer.Option(help="Questions with the same id follow up on each other.")] = "",
    language: Annotated[str, typer.Option(help="Language of the question (en, fra); default: recognised.")] = "",
    url: Url = "",
    data: Data = DATA,
    in_process: InProcess = False,
    as_json: Json = False,
) -> None:
    """Ask a question and watch it being answered."""
    import sys

    from cli.host.target import client
    from cli.operations.answers_view import ask as put
    from cli.output import run

    text = sys.stdin.read() if question == "-" else question
    body = {"question": text, "pipeline": pipeline, "conversation_id": conversation, "language": language}

    async def work() -> str:
        async with client(url, data, in_process=in_process, quiet=as_json) as here:
            return str((await put(here, body, as_json=as_json))["result"]["outcome"])

    raise SystemExit(3 if run(work) == "abandoned" else 0)


app.command()(ingest)
app.command()(search)
app.command()(forget)
app.command()(stats)


@app.command()
def doctor(
    port: Annotated[int, typer.Option(help="Port to look at.")] = 8080,
    data: Data = DATA,
    nats_url: NatsUrl = "",
    as_json: Json = False,
) -> None:
    """Look at what this machine has and lacks."""
    from dataclasses import asdict

    from cli.operations.doctor import examine
    from cli.output import print_json, run, table

    settings = _settings(data_dir=data, port=port, nats_url=nats_url or _running_nats(data))
    findings = run(lambda: examine(settings))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        table("doctor", ["what", "verdict", "detail"], [[one.what, one.verdict, one.detail] for one in findings])
    raise SystemExit(1 if any(finding.verdict == "fail" for finding in findings) else 0)


@bus_app.command("provision")
def bus_provision(nats_url: NatsUrl = "", data: Data = DATA, as_json: Json = False) -> None:
    """Create or update the stream, the durables and the buckets; safe to run again."""
    from dataclasses import asdict

    from cli.host.catalogue import stages as all_stages
    from cli.operations import bus
    from cli.output import print_json, run, table

    settings = _settings(data_dir=data, nats_url=nats_url or _running_nats(data))

    async def work() -> list[bus.Change]:
        async with bus.connected(settings, "provision") as client:
            return await bus.provision(client, settings, all_stages(settings))

    changes = run(work)
    if as_json:
        print_json([asdict(change) for change in changes])
        return
    table("bus", ["kind", "name", "did"], [[one.kind, one.name, one.did] for one in changes])


@bus_app.command("status")
def bus_status(nats_url: NatsUrl = "", data: Data = DATA, as_json: Json = False) -> None:
    """The log in figures."""
    from dataclasses import asdict

    from cli.operations import bus
    from cli.output import print_json, run, table

    settings = _settings(data_dir=data, nats_url=nats_url or _running_nats(data))

    async def work() -> bus.BusStatus:
        async with bus.connected(settings, "status") as client:
            return await bus.status(client)

    figures = asdict(run(work))
    if as_json:
        print_json(figures)
        return
    table("bus", ["what", "figure"], [[key, value] for key, value in figures.items()])


def _running_nats(data: Path) -> str:
    """The bus of the platform that runs on this data directory, if one does."""
    from cli.host.data_dir import DataDir

    running = DataDir(data).running()
    return running.nats_url if running else ""


@app.callback()
def _log_to_standard_error() -> None:
    """Answers questions from a body of documents as a chain of durable facts."""
    import structlog  # half the time of --help, which needs none of it

    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


def main() -> None:
    """The console script."""
    from cli.commands import pipelines

    pipelines.register(pipelines_app)
    app()


if __name__ == "__main__":
    main()
