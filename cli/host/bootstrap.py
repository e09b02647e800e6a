"""What every way of running the platform starts with: NATS is provisioned and the packaged pipelines are stored."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cli.host.catalogue import section_kinds, stages
from cli.operations import bus
from shared.contracts.errors import ConfigurationError
from shared.contracts.pipelines import Pipeline
from shared.runtime.pipelines import check_pipeline, check_routes, read_pipelines
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines

#: Pipelines that come with the program.
PIPELINES = Path(__file__).resolve().parents[2] / "deploy" / "pipelines"


def packaged_pipelines(folder: Path = PIPELINES) -> list[Pipeline]:
    """Every pipeline of a folder and their profiles, validated against the settings of the stages.

    Raises:
        PipelineError: a document is invalid; the text names the first error.
    """
    folders = sorted(path.parent for path in folder.glob("*/pipeline.yaml"))
    pipelines = [pipeline for path in folders for pipeline in read_pipelines(path)]
    kinds = section_kinds()
    for pipeline in pipelines:
        check_pipeline(pipeline, kinds)
    check_routes(pipelines, kinds, {pipeline.name for pipeline in pipelines})
    return pipelines


async def prepare(settings: Settings) -> list[str]:
    """Provision NATS and store the packaged pipelines that are missing; returns notes for the operator.

    A stored pipeline that differs from its file is not overwritten: `answerbus pipelines apply` does that.

    Raises:
        UnavailableError: NATS is unavailable.
        ConfigurationError: NATS refuses a change, or the default pipeline does not exist.
    """
    notes: list[str] = []
    async with bus.connected(settings, "provision") as client:
        provisioning = bus.provision(client, settings, stages(settings))
        # Pipelines are validated while the server writes; that takes longer than everything it does.
        pipelines, _ = await asyncio.gather(asyncio.to_thread(packaged_pipelines), provisioning)
        if not any(pipeline.name == settings.default_pipeline for pipeline in pipelines):
            notes.append(f"the default pipeline {settings.default_pipeline!r} is not among the packaged ones")
        store = NatsPipelines(client.jetstream)
        await store.open()
        try:
            for pipeline in pipelines:
                ref = store.current(pipeline.name)
                if ref is None:
                    await store.apply(pipeline)
                elif (await store.pipeline(ref)).encode() != pipeline.encode():
                    notes.append(
                        f"pipeline {pipeline.name}: the stored revision {ref.revision} differs from the file; "
                        f"to use the file: answerbus pipelines apply"
                    )
            if store.current(settings.default_pipeline) is None:
                raise ConfigurationError(
                    f"the default pipeline {settings.default_pipeline!r} does not exist; "
                    f"apply it, or set ANSWERBUS_DEFAULT_PIPELINE to one of {', '.join(store.names()) or 'none'}"
                )
        finally:
            await store.close()
    return notes
