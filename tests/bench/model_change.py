"""Questions while another embeddings model is filled in beside the live index."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.support.model_server import ModelServer
from tests.support.platform import ANSWERBUS, ROOT, cli, running

from .chains import Say
from .report import Section

#: Copies of the project's pages, which make about 1,400 passages each.
COPIES, QUICK_COPIES = 6, 1
#: Seconds of questions without the change, and the pause between two questions.
ALONE_SECONDS, PAUSE_SECONDS = 20.0, 0.1
#: Seconds that the models take for one request.
MODEL_SECONDS = 0.02
MODELS = ("old", "half", "whole")
TIMEOUT = 1200


async def compare(*, quick: bool, say: Say) -> Section:
    """Ask before, during and after a change of the model, with half and with all of the time given to embedding."""
    section = Section(
        name="reindex",
        title="Questions over HTTP while the passages are embedded with another model",
        measures=("p50 ms", "p95 ms", "passages/s"),
        baselines=(),
    )
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder, _models() as server:
        root = Path(folder)
        pages, config = _pages(root / "pages", QUICK_COPIES if quick else COPIES), root / "models.json"
        endpoints = [{"name": one, "base_url": server.url, "model": one} for one in MODELS]
        config.write_text(json.dumps({"endpoints": endpoints, "roles": {"embed": list(MODELS)}}))
        with running(root / "data", env={"ANSWERBUS_MODELS": str(config)}) as up:
            done = cli("ingest", str(pages), "--url", up.url, timeout=TIMEOUT)
            assert done.returncode == 0, done.stderr
            say(f"reindex: {done.stdout.splitlines()[0]}")
            until = time.monotonic() + ALONE_SECONDS
            section.add("alone", _asked(up.url, lambda: time.monotonic() >= until))
            for model, share in (("half", "0.5"), ("whole", "1")):
                section.add(f"--share {share}", _while_embedding(up.url, model, share))
    return section


def _models() -> ModelServer:
    return ModelServer(dimension=384, embed=MODEL_SECONDS)


def _pages(folder: Path, copies: int) -> Path:
    folder.mkdir()
    texts = [page.read_text("utf-8") for page in sorted((ROOT / "docs").rglob("*.md"))]
    for copy in range(copies):
        for number, text in enumerate(texts):
            # Each copy has passages of its own, or their vectors would be in the cache.
            own = text.replace(". ", f" (copy {copy}). ")
            (folder / f"page{copy}-{number}.md").write_text(f"# Copy {copy} of page {number}\n\n{own}", "utf-8")
    return folder


def _while_embedding(url: str, model: str, share: str) -> dict[str, float]:
    command = [str(ANSWERBUS), "documents", "reindex", "--model", model, "--share", share, "--json", "--url", url]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        measured = _asked(url, lambda: process.poll() is not None)
        seconds = time.monotonic() - began
        assert process.stdout is not None
        told = json.loads(process.stdout.read())
    assert told["embedded_beside"] == told["passages"], told
    finished = cli("documents", "reindex", "--finish", "--yes", "--url", url)
    assert finished.returncode == 0, finished.stderr
    return {**measured, "passages/s": told["passages"] / seconds}


def _asked(url: str, ended: Callable[[], bool]) -> dict[str, float]:
    """The times of questions that are asked one after the other until then; each must have an answer."""
    took: list[float] = []
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        while not ended():
            began = time.perf_counter()
            body = {"question": f"How do I start a worker of the stage retrieval ({len(took)})?"}
            reply = client.post("/api/v1/query", json=body).json()
            took.append((time.perf_counter() - began) * 1e3)
            assert reply["status"] == "COMPLETE", reply
            time.sleep(PAUSE_SECONDS)
    ordered = sorted(took)
    return {"p50 ms": ordered[len(ordered) // 2], "p95 ms": ordered[int(len(ordered) * 0.95)], "passages/s": 0.0}
