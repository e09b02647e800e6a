"""`answerbus pipelines check|apply|list|show`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.contracts.pipelines import Pipeline
    from shared.stores.pipelines_nats import NatsPipelines

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
NatsUrl = Annotated[str, typer.Option("--nats-url", help="NATS servers [env: ANSWERBUS_NATS_URL].", show_default=False)]
Data = Annotated[
    Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory of a running platform.")
]
Folders = Annotated[list[Path] | None, typer.Argument(help="Pipeline folders; default: the packaged ones.")]
DATA = Path("data")


def register(app: typer.Typer) -> None:
    app.command("check")(check)
    app.command("apply")(apply)
    app.command("list")(list_all)
    app.command("show")(show)


def check(folders: Folders = None) -> None:
    """Check pipeline documents against the stages' settings, without a bus."""
    for name in [pipeline.name for pipeline in _read(folders)]:
        print(f"{name}: ok")


def apply(folders: Folders = None, nats_url: NatsUrl = "", data: Data = DATA, as_json: Json = False) -> None:
    """Check pipelines and store them; workers use the new revision for the questions that come next."""
    from cli.output import print_json

    pipelines = _read(folders)
    did = []

    async def work(store: NatsPipelines) -> None:
        for pipeline in pipelines:
            ref, new = await store.apply(pipeline)
            did.append({"name": ref.name, "revision": ref.revision, "changed": new})

    _with_store(nats_url, data, work)
    if as_json:
        print_json(did)
        return
    for one in did:
        print(f"{one['name']}: revision {one['revision']}{'' if one['changed'] else ' (unchanged)'}")


def list_all(nats_url: NatsUrl = "", data: Data = DATA, as_json: Json = False) -> None:
    """The pipelines on the bus, with their newest revision."""
    from cli.output import print_json, table

    rows: list[list[object]] = []

    async def work(store: NatsPipelines) -> None:
        for name in store.names():
            ref = store.current(name)
            assert ref is not None
            pipeline = await store.pipeline(ref)
            rows.append([name, ref.revision, len(await store.revisions(name)), pipeline.description])

    _with_store(nats_url, data, work)
    if as_json:
        print_json([dict(zip(("name", "revision", "kept", "description"), row, strict=True)) for row in rows])
        return
    table("pipelines", ["name", "revision", "kept", "description"], rows)


def show(
    name: Annotated[str, typer.Argument(help="NAME, or NAME@REVISION.")],
    nats_url: NatsUrl = "",
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """One pipeline document, with every default filled in."""
    import yaml

    from cli.host.catalogue import section_kinds
    from cli.output import print_json
    from shared.contracts.domain import PipelineRef
    from shared.contracts.errors import NotFoundError

    shown: dict[str, object] = {}

    async def work(store: NatsPipelines) -> None:
        plain, _, revision = name.partition("@")
        current = store.current(plain)
        if current is None or (revision and not revision.isdigit()):
            raise NotFoundError(f"no pipeline is called {name}; there are: {', '.join(store.names()) or 'none'}")
        ref = PipelineRef(name=plain, revision=int(revision)) if revision else current
        pipeline = await store.pipeline(ref)
        shown.update(name=ref.name, revision=ref.revision, description=pipeline.description)
        if pipeline.project_introduction:
            shown["project_introduction"] = pipeline.project_introduction
        for stage, kind in section_kinds().items():
            if kind is not None:
                shown[stage] = pipeline.section(stage, kind).model_dump(mode="json")

    _with_store(nats_url, data, work)
    if as_json:
        print_json(shown)
    else:
        print(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True), end="")


def _read(folders: list[Path] | None) -> list[Pipeline]:
    from cli.host.catalogue import section_kinds
    from cli.host.platform import packaged_pipelines
    from cli.output import fail
    from shared.contracts.errors import AnswerbusError
    from shared.runtime.pipelines import check_pipeline, read_pipeline

    try:
        if not folders:
            return packaged_pipelines()
        pipelines = [read_pipeline(folder) for folder in folders]
        for pipeline in pipelines:
            check_pipeline(pipeline, section_kinds())
    except AnswerbusError as error:
        fail(str(error))
    return pipelines


def _with_store(nats_url: str, data: Path, work: Callable[[NatsPipelines], Awaitable[None]]) -> None:
    from cli.host.data_dir import DataDir
    from cli.operations import bus
    from cli.output import run
    from shared.runtime.settings import Settings
    from shared.stores.pipelines_nats import NatsPipelines

    running = DataDir(data).running()
    url = nats_url or (running.nats_url if running else "")
    settings = Settings(nats_url=url, data_dir=data) if url else Settings(data_dir=data)

    async def connected() -> None:
        async with bus.connected(settings, "pipelines") as client:
            store = NatsPipelines(client.jetstream)
            await store.open()
            try:
                await work(store)
            finally:
                await store.close()

    run(connected)
