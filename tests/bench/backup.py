"""A backup of a platform that runs, and its restoration, at a size of record and index."""

from __future__ import annotations

import json
import tempfile
import time
from itertools import islice
from pathlib import Path

from services.persistence.sql.record import Record
from tests.support.platform import cli, running

from .chains import Say
from .record import load
from .report import Section
from .scale import RetrievalStores
from .worlds import articles

SIZE, QUICK_SIZE = 100_000, 2_000
MINUTES = 600


async def compare(*, quick: bool, say: Say) -> Section:
    """Fill a data directory with so many exchanges and passages, start a platform on it, back it up and restore it."""
    size = QUICK_SIZE if quick else SIZE
    section = Section(
        name="backup",
        title=f"A backup of a running platform with {size:,} exchanges and as many passages with their graph",
        measures=("backup s", "restore s", "MB of the backup"),
        baselines=(),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        data, kept = root / "data", root / "backup"
        await _fill(data, size, say)
        with running(data):
            say("backup: the platform is ready")
            backup = _seconds("backup", str(kept), "--data", str(data))
        restored = _seconds("restore", str(kept), "--data", str(root / "restored"))
        manifest = json.loads((kept / "manifest.json").read_text())
        assert manifest["streams"]
        megabytes = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file()) / 2**20
        with running(root / "restored") as again:
            assert len(again.recorded()) >= size * 0.99
    section.add("platform", dict(zip(section.measures, (backup, restored, megabytes), strict=True)))
    return section


async def _fill(data: Path, size: int, say: Say) -> None:
    (data / "record").mkdir(parents=True)
    record = Record(f"sqlite+aiosqlite:///{data / 'record' / 'record.db'}")
    await record.open()
    await load(record, size, say)
    await record.close()
    say(f"backup: {size:,} exchanges")
    stores = RetrievalStores(data / "retrieval", graph=True, vectors=False)
    await stores.open()
    passages = await stores.take_in(islice(articles(size), size))
    await stores.close()
    say(f"backup: {passages:,} passages")


def _seconds(*command: str) -> float:
    began = time.perf_counter()
    done = cli(*command, timeout=MINUTES)
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began
