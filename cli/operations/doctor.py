"""`answerbus doctor`: what this machine has and lacks, in one table."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import resource
import shutil
import sys
from dataclasses import dataclass

from cli.host.catalogue import moderation_needs
from cli.host.data_dir import DataDir
from cli.host.nats_server import binary
from cli.host.platform import packaged_pipelines
from cli.operations import bus
from shared.contracts.errors import AnswerbusError
from shared.contracts.pipelines import Pipeline
from shared.llm.endpoint import Endpoint
from shared.llm.endpoint_error import EndpointError
from shared.llm.settings import ROLES
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines
from shared.web.listener import listen


@dataclass(frozen=True)
class Finding:
    """`verdict`: ok, warn (works, with less) or fail (does not work)."""

    what: str
    verdict: str
    detail: str


async def examine(settings: Settings) -> list[Finding]:
    """Look at everything `up` will need."""
    findings = [_python(), _nats_server(), _pipelines(), _data(settings), _port(settings), _files()]
    findings += [_extra(*one) for one in (("redis", "redis"), ("postgres", "asyncpg"), ("qdrant", "qdrant-client"))]
    findings.append(await _bus(settings))
    findings += await _moderation(settings)
    findings += await _models(settings)
    return findings


def _python() -> Finding:
    version = platform.python_version()
    return Finding("python", "ok" if sys.version_info >= (3, 11) else "fail", version)


def _nats_server() -> Finding:
    try:
        return Finding("nats-server", "ok", str(binary()))
    except AnswerbusError as error:
        return Finding("nats-server", "fail", str(error))


def _pipelines() -> Finding:
    try:
        return Finding("pipelines", "ok", ", ".join(pipeline.name for pipeline in packaged_pipelines()))
    except AnswerbusError as error:
        return Finding("pipelines", "fail", str(error))


def _data(settings: Settings) -> Finding:
    running = DataDir(settings.data_dir).running()
    if running:
        return Finding("data directory", "ok", f"{settings.data_dir}: in use by process {running.pid} {running.url}")
    parent = next(path for path in (settings.data_dir, *settings.data_dir.resolve().parents) if path.exists())
    free = shutil.disk_usage(parent).free // 2**20
    return Finding("data directory", "ok" if free > 500 else "warn", f"{settings.data_dir}: {free} MiB free")


def _port(settings: Settings) -> Finding:
    try:
        listen(settings.host, settings.port).close()
    except AnswerbusError as error:
        return Finding("port", "warn", str(error))
    return Finding("port", "ok", f"{settings.host}:{settings.port} is free")


def _files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Finding("open files", "ok" if soft >= 1024 else "warn", f"{soft}; each stream needs one")


def _extra(extra: str, package: str) -> Finding:
    try:
        return Finding(f"extra {extra}", "ok", f"{package} {importlib.metadata.version(package)}")
    except importlib.metadata.PackageNotFoundError:
        return Finding(f"extra {extra}", "warn", f"not installed; needed only where configured: 'answerbus[{extra}]'")


async def _bus(settings: Settings) -> Finding:
    try:
        async with bus.connected(settings, "doctor") as client:
            status = await bus.status(client)
    except AnswerbusError as error:
        return Finding("bus", "warn", str(error))
    return Finding(
        "bus", "ok", f"{status.messages} events, {status.durables} durables, {status.dead_letters} dead letters"
    )


async def _moderation(settings: Settings) -> list[Finding]:
    """What the moderation of each pipeline needs and this machine has or lacks, where it needs anything."""
    findings = []
    for pipeline in await _in_use(settings):
        try:
            needs = moderation_needs(pipeline)
        except AnswerbusError as error:
            needs = [("moderation", "fail", str(error))]
        findings += [Finding(f"pipeline {pipeline.name}: {what}", verdict, detail) for what, verdict, detail in needs]
    return findings


async def _in_use(settings: Settings) -> list[Pipeline]:
    """The pipelines as they are applied; without a bus that has them, the packaged ones, if they hold."""
    try:
        async with bus.connected(settings, "doctor") as client:
            store = NatsPipelines(client.jetstream)
            await store.open()
            try:
                refs = [ref for name in store.names() if (ref := store.current(name))]
                return [await store.pipeline(ref) for ref in refs]
            finally:
                await store.close()
    except (AnswerbusError, TimeoutError):
        with contextlib.suppress(AnswerbusError):  # `_pipelines` tells what is wrong with them
            return packaged_pipelines()
    return []


async def _models(settings: Settings) -> list[Finding]:
    """Who plays each role, and whether each endpoint answers; no tokens are spent."""
    endpoints = settings.model_endpoints
    roles = {role: [one.name for one in endpoints.of(role)] for role in (*ROLES, "embed")}
    played = "; ".join(f"{role}: {', then '.join(names)}" for role, names in roles.items() if names)
    findings = [Finding("model roles", "ok", played or "none; every step keeps to its rule (docs/models.md)")]
    for one in endpoints.endpoints:
        endpoint = Endpoint(one)
        try:
            await endpoint.check()
            verdict, detail = "ok", "answers"
        except EndpointError as error:
            verdict, detail = _judged(error)
        findings.append(Finding(f"endpoint {one.name}", verdict, f"{one.kind}, {one.model}: {detail}"))
        await endpoint.close()
    return findings


def _judged(error: EndpointError) -> tuple[str, str]:
    if error.reason in ("status_404", "status_405"):
        return "ok", "answers (and has no list of models)"
    if error.reason in ("status_401", "status_403"):
        return "warn", "does not take the key"
    return "warn", f"does not answer: {error.reason}"
