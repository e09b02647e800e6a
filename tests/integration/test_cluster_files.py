"""Three nodes with TLS: the files of deploy/ with real servers on loopback, and the override of the compose file."""

from __future__ import annotations

import os
import shutil
import ssl
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import pytest
import yaml
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import StreamConfig
from nats.js.errors import APIError

from cli.host.catalogue import STAGES
from tests.deploy.engine import NoEngineError, compose_command
from tests.support.cluster import ROOT, Node, until
from tests.support.servers import free_port

DEPLOY = ROOT / "deploy"
PASSWORD = "pass-of-this-test"


def made(folder: Path, *names: str) -> Path:
    command = ["sh", str(DEPLOY / "certificates.sh"), str(folder), *names]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("openssl: not installed")
    return made(tmp_path / "tls")


def node(name: str, folder: Path, certificates: Path) -> Node:
    """A node with the file of the cluster, and one user instead of those of `answerbus bus credentials`."""
    config = folder / name / "nats-node.conf"
    (config.parent / "credentials").mkdir(parents=True)
    shutil.copy(DEPLOY / "nats-node.conf", config)
    users = f'authorization {{ user: "tester", password: "{PASSWORD}" }}\n'
    (config.parent / "credentials" / "users.conf").write_text(users)
    variables = {
        "NATS_HTTP": f'"127.0.0.1:{free_port()}"',
        "NATS_CERTIFICATE": f'"{certificates / "node.crt"}"',
        "NATS_KEY": f'"{certificates / "node.key"}"',
        "NATS_AUTHORITY": f'"{certificates / "ca.crt"}"',
    }
    return Node(name, free_port(), free_port(), folder / name, config=config, variables=variables)


@pytest.fixture
def nodes(tmp_path: Path, certificates: Path) -> Iterator[list[Node]]:
    found = [node(f"n{number}", tmp_path, certificates) for number in (1, 2, 3)]
    routes = f"[{', '.join(f'tls://127.0.0.1:{one.cluster_port}' for one in found)}]"
    try:
        for one in found:
            one.routes = routes
            one.start()
        yield found
    finally:
        for one in found:
            one.kill()


@asynccontextmanager
async def connected(nodes: list[Node], authority: Path) -> AsyncIterator[Client]:
    async def quiet(_: Exception) -> None:
        """The server goes away in these tests."""

    client = await nats.connect(
        [f"tls://127.0.0.1:{one.port}" for one in nodes],
        tls=ssl.create_default_context(cafile=str(authority)),
        user="tester",
        password=PASSWORD,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
        error_cb=quiet,
    )
    try:
        yield client
    finally:
        await client.close()


async def test_three_nodes_keep_what_was_stored_when_one_dies_and_take_no_node_of_another_authority(
    nodes: list[Node], certificates: Path, tmp_path: Path
) -> None:
    async with connected(nodes, certificates / "ca.crt") as client:
        jetstream = client.jetstream(timeout=5)

        async def stored(number: int) -> bool:
            try:
                return (await jetstream.publish("facts.one", str(number).encode())).seq >= number
            except (NatsError, APIError, TimeoutError):
                return False

        async def three_copies() -> bool:
            try:
                await jetstream.add_stream(StreamConfig(name="FACTS", subjects=["facts.>"], num_replicas=3))
            except (NatsError, APIError, TimeoutError):
                return False
            return True

        await until(three_copies, "a stream with three copies")
        await until(lambda: stored(1), "the first fact")
        leader = (await jetstream.stream_info("FACTS")).cluster
        assert leader is not None
        dead = next(one for one in nodes if one.name == leader.leader)
        dead.kill()
        await until(lambda: stored(2), "a fact after the death of the leader")
        dead.start()

        stranger = node("stranger", tmp_path, made(tmp_path / "other"))
        stranger.routes = dead.routes
        stranger.start()
        try:

            async def refused() -> bool:
                log = (stranger.folder / "log").read_text("utf-8", "replace")
                return "TLS route handshake error" in log or "certificate" in log

            await until(refused, "the refusal of a node with a certificate of its own")
        finally:
            stranger.kill()
    with pytest.raises((NatsError, OSError, ssl.SSLError)):
        await nats.connect(
            f"tls://127.0.0.1:{nodes[0].port}",
            tls=ssl.create_default_context(cafile=str(tmp_path / "other" / "ca.crt")),
            user="tester",
            password=PASSWORD,
            max_reconnect_attempts=0,
            allow_reconnect=False,
        )


def test_certificates_are_kept_and_only_their_owner_enters_the_folder(certificates: Path) -> None:
    before = {path.name: path.read_bytes() for path in certificates.iterdir()}
    made(certificates)
    assert {path.name: path.read_bytes() for path in certificates.iterdir()} == before
    assert set(before) == {"ca.crt", "ca.key", "node.crt", "node.key", *({"ca.srl"} & set(before))}
    assert stat.S_IMODE(certificates.stat().st_mode) == 0o700
    assert stat.S_IMODE((certificates / "ca.key").stat().st_mode) == 0o600


def test_every_stage_of_the_override_talks_tls_with_all_three_nodes() -> None:
    try:
        compose = compose_command()
    except NoEngineError as error:
        pytest.skip(f"compose: {error}")
    files = ["-f", str(ROOT / "docker-compose.yml"), "-f", str(DEPLOY / "compose.cluster.yml")]
    shown = subprocess.run(
        [*compose, *files, "config"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ.copy(),
        timeout=60,
    )
    services = yaml.safe_load(shown.stdout)["services"]
    for stage in (*STAGES, "provision"):
        environment = services[stage]["environment"]
        assert environment["ANSWERBUS_NATS_URL"] == "tls://nats:4222,tls://nats-2:4222,tls://nats-3:4222"
        assert environment["ANSWERBUS_NATS_TLS_CA"] in str(services[stage]["volumes"])
        assert str(environment["ANSWERBUS_REPLICAS"]) == "3"
    for name in ("nats", "nats-2", "nats-3"):
        assert services[name]["environment"]["NATS_NAME"] == name
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
