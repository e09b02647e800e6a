"""Kill -9 of persistence around its commit: before it nothing is kept, after it nothing is kept or counted twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import nats
import orjson
import pytest

from cli.operations import bus
from services.persistence.app import build
from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.envelope import Envelope, new_correlation_id
from shared.contracts.facts import ExchangeRecorded
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.platform import ROOT
from tests.support.records import said, verified
from tests.support.servers import nats_server

pytestmark = pytest.mark.integration

#: A worker that is gone at its first commit: before it, or after it and before the acknowledgement.
KILLED = """
import os, signal, sys
from services.persistence.app import build
from services.persistence.sql.database import Database
from shared.runtime.worker import run
write = Database.write
async def killed(self, entries):
    if sys.argv[1] == "after":
        await write(self, entries)
    os.kill(os.getpid(), signal.SIGKILL)
Database.write = killed
run(build)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_ending_is_kept_and_counted_once_when_its_worker_is_killed(moment: str, tmp_path: Path) -> None:
    event = said(verified(), question=new_correlation_id())
    with nats_server(tmp_path) as server:
        settings = Settings(nats_url=server.url, data_dir=tmp_path, ack_wait_seconds=1)
        environment = {
            **os.environ,
            "ANSWERBUS_NATS_URL": server.url,
            "ANSWERBUS_DATA_DIR": str(tmp_path),
            "ANSWERBUS_ACK_WAIT_SECONDS": "1",
        }
        client = await nats.connect(server.url)
        try:
            await bus.provision(client, settings, [build(MemoryBus().context())])
            recorded = await client.subscribe(subjects.live(subjects.consume_filter(ExchangeRecorded, Lane.LIVE)))
            await client.jetstream().publish(event.subject, event.encode(), headers={"Nats-Msg-Id": event.event_id})
            first = await asyncio.create_subprocess_exec(
                sys.executable, "-c", KILLED, moment, env=environment, cwd=ROOT
            )
            assert await first.wait() == -signal.SIGKILL
            assert rows(tmp_path) == (0 if moment == "before" else 1)

            second = subprocess.Popen([sys.executable, "-m", "services.persistence.app"], env=environment, cwd=ROOT)
            try:
                heard = await recorded.next_msg(timeout=60)
            finally:
                second.terminate()
                second.wait()
        finally:
            await client.close()

    assert Envelope.model_validate_json(heard.data).correlation_id == event.correlation_id
    assert rows(tmp_path) == 1
    assert counted(tmp_path) == {"day": 1, "hour": 1}


def rows(data: Path) -> int:
    with contextlib.closing(sqlite3.connect(data / "record" / "record.db")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM exchanges").fetchone()[0])


def counted(data: Path) -> dict[str, int]:
    """How many answers the figures of the one hour and the one day know."""
    with contextlib.closing(sqlite3.connect(data / "record" / "record.db")) as connection:
        kept = connection.execute("SELECT span, figures FROM tallies").fetchall()
    return {span: orjson.loads(figures)["counts"]["outcome|answered"] for span, figures in kept}
