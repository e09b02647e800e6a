"""The way to the bus encrypted and checked on both sides, and what the bus keeps unreadable on its disk."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.operations import bus
from shared.bus import Connection, Publisher
from shared.bus.ports import PublishResult
from shared.contracts import subjects
from shared.contracts.domain import PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.errors import ConfigurationError
from shared.contracts.facts import QuestionAsked
from shared.runtime.settings import Settings
from tests.integration.rig import LOG_BYTES
from tests.support.servers import Server, missing, nats_server

PIPELINE = PipelineRef(name="default", revision=1)
TEXT = "Where do the herons breed in spring?"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        missing("openssl", "there is no openssl to make certificates with")
    cert, key = folder / f"{name}.crt", folder / f"{name}.key"
    asked = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    told = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, *asked, *told, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def encrypted(server: Server, **options: Any) -> Settings:
    return Settings(nats_url=server.url.replace("nats://", "tls://"), max_log_bytes=LOG_BYTES, **options)


async def test_a_worker_talks_tls_with_a_server_whose_certificate_it_knows(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    config = tmp_path / "tls.conf"
    config.write_text(f'tls {{ cert_file: "{cert}", key_file: "{key}" }}\n')
    with nats_server(tmp_path, config=config) as server:
        settings = encrypted(server, nats_tls_ca=str(cert))
        async with bus.connected(settings) as client:
            await bus.provision(client, settings, [])
        connection = Connection(settings, "test")
        await connection.open()
        try:
            event = opening("gateway", QuestionAsked(text=TEXT), pipeline=PIPELINE, deadline_seconds=60)
            said = await Publisher(connection.broker, "gateway", budget=5, raw_ttl=60).publish(event)
            assert said is PublishResult.NEW
        finally:
            await connection.close()


async def test_a_server_with_a_certificate_nobody_knows_is_not_talked_to(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    config = tmp_path / "tls.conf"
    config.write_text(f'tls {{ cert_file: "{cert}", key_file: "{key}" }}\n')
    with (
        nats_server(tmp_path, config=config) as server,
        pytest.raises(ConfigurationError, match="ANSWERBUS_NATS_TLS_CA"),
    ):
        async with bus.connected(encrypted(server)):
            pass


async def test_a_server_that_asks_for_certificates_gets_that_of_the_settings(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    mine, my_key = certificate(tmp_path, "worker")
    config = tmp_path / "tls.conf"
    config.write_text(f'tls {{ cert_file: "{cert}", key_file: "{key}", ca_file: "{mine}", verify: true }}\n')
    with nats_server(tmp_path, config=config) as server:
        options = {"nats_tls_ca": str(cert), "nats_tls_cert": str(mine), "nats_tls_key": str(my_key)}
        async with bus.connected(encrypted(server, **options)) as client:
            assert client.is_connected


def test_a_certificate_file_that_is_none_is_told_by_the_setting() -> None:
    with pytest.raises(ConfigurationError, match="ANSWERBUS_NATS_TLS_CA"):
        Connection(Settings(nats_url="tls://127.0.0.1:1", nats_tls_ca="/nowhere/ca.crt"), "test")


async def test_with_a_cipher_nothing_of_a_question_can_be_read_in_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    config = tmp_path / "cipher.conf"
    config.write_text(
        f'jetstream {{ store_dir: "{store}", cipher: aes, key: "a test\'s own key", max_file_store: 1TB }}\n'
    )
    with nats_server(tmp_path, jetstream=False, config=config) as server:
        settings = Settings(nats_url=server.url)
        async with bus.connected(settings) as client:
            await bus.provision(client, settings, [])
            event = opening("gateway", QuestionAsked(text=TEXT), pipeline=PIPELINE, deadline_seconds=60)
            jetstream = client.jetstream()
            await jetstream.publish(event.subject, event.encode())
            server.stop()
            kept = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
            assert b"herons" not in kept
            assert event.correlation_id.encode() not in kept
        server.start()
        async with bus.connected(settings) as client:
            stored = await client.jetstream().get_last_msg(subjects.STREAM, event.subject)
            assert TEXT.encode() in (stored.data or b"")
