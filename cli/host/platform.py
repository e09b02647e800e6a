"""What every way of running the platform begins with: a bus, provisioned, with pipelines in it."""

from __future__ import annotations

from pathlib import Path

from cli.host.catalogue import section_kinds, stages
from cli.operations import bus
from shared.contracts.errors import ConfigurationError
from shared.contracts.pipelines import Pipeline
from shared.runtime.pipelines import check_pipeline, read_pipeline
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines

#: Pipelines that come with the program.
PIPELINES = Path(__file__).resolve().parents[2] / "deploy" / "pipelines"


def packaged_pipelines(folder: Path = PIPELINES) -> list[Pipeline]:
    """Every pipeline of a folder, checked against the stages.

    Raises:
        PipelineError: the first thing that does not hold.
    """
    folders = sorted(path.parent for path in folder.glob("*/pipeline.yaml"))
    pipelines = [read_pipeline(path) for path in folders]
    kinds = section_kinds()
    for pipeline in pipelines:
        check_pipeline(pipeline, kinds)
    return pipelines


async def prepare(settings: Settings) -> list[str]:
    """Provision the bus and store packaged pipelines that it does not have; returns what an operator should know.

    A pipeline that was changed on the bus is left as it is: files win only by `answerbus pipelines apply`.

    Raises:
        UnavailableError, ConfigurationError: the bus is away or refuses.
    """
    notes: list[str] = []
    pipelines = packaged_pipelines()
    if not any(pipeline.name == settings.default_pipeline for pipeline in pipelines):
        notes.append(f"the default pipeline {settings.default_pipeline!r} is not among the packaged ones")
    async with bus.connected(settings, "provision") as client:
        await bus.provision(client, settings, stages(settings))
        store = NatsPipelines(client.jetstream)
        await store.open()
        try:
            for pipeline in pipelines:
                ref = store.current(pipeline.name)
                if ref is None:
                    await store.apply(pipeline)
                elif (await store.pipeline(ref)).encode() != pipeline.encode():
                    notes.append(
                        f"pipeline {pipeline.name}: the bus has revision {ref.revision}, which differs from the file; "
                        f"to use the file: answerbus pipelines apply"
                    )
            if store.current(settings.default_pipeline) is None:
                raise ConfigurationError(f"no pipeline is called {settings.default_pipeline!r}")
        finally:
            await store.close()
    return notes
