"""The packaged intranet pipeline, a hit and a miss of its answer cache: `python -m tests.bench --only intranet`.

The models take as long as those of the system that the pipeline replaces: 300 ms for reframing, whose call also asks
back, 500 ms for the embedding of a question, 400 ms for reranking, 500 ms for the answer. `model ms` is the
sum of the calls that a question needs, one after another; what is above it, the platform adds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx

from tests.acceptance.intranet.conftest import PAGES, environment
from tests.acceptance.intranet.scripted_model import DIMENSIONS, answered, step_of
from tests.support.model_server import Asked, ModelServer, Scripted, ScriptedReply
from tests.support.platform import cli, running

from .report import Section

Say = Callable[[str], None]
#: Seconds of a call, by step.
SECONDS = {"restate": 0.3, "embed": 0.5, "rerank": 0.4, "answer": 0.5}
#: A question of each kind; `{}` makes each a new question.
TRAVEL = "How do I submit a travel reimbursement claim, case {}?"
DEADLINE = "What's the deadline?"
KINDS = {
    "hit": "What does a parking permit cost?",
    "miss": "I lost my forgotten password link {}, what now with the password link?",
    "miss, reranked": TRAVEL,
    "miss, reframed and reranked": DEADLINE,
}
HITS, MISSES = 200, 20


def compare(*, rounds: int, quick: bool, say: Say) -> Section:
    """Milliseconds of `POST /api/v1/query`, one question at a time."""
    section = Section(
        name="intranet",
        title="POST /api/v1/query, pipeline intranet, models as slow as those it is compared with, one at a time",
        measures=("p50 ms", "p95 ms", "model ms"),
        baselines=(),
    )
    numbers = itertools.count(1)
    with (
        tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder,
        ModelServer(_slow, dimension=DIMENSIONS, embed=SECONDS["embed"]) as models,
        running(Path(folder) / "data", "--pipeline", "intranet", env=environment(models)) as platform,
        httpx.Client(base_url=platform.url, timeout=60, trust_env=False) as http,
    ):
        ingested = cli("ingest", str(PAGES), "--url", platform.url)
        if ingested.returncode:
            raise RuntimeError(ingested.stderr)
        _until_cached(http)
        for number, (kind, question) in itertools.product(range(rounds), KINDS.items()):
            count = (HITS if kind == "hit" else MISSES) // (4 if quick else 1)
            measured = [_asked(http, models, question, next(numbers)) for _ in range(count)]
            times, needed = (sorted(one) for one in zip(*measured, strict=True))
            values = {"p50 ms": times[count // 2], "p95 ms": times[int(count * 0.95)], "model ms": needed[count // 2]}
            section.add(kind, values)
            say(f"intranet round {number + 1}: {kind}: {values['p50 ms']:.0f} ms, models {values['model ms']:.0f} ms")
    return section


def _asked(http: httpx.Client, models: ModelServer, question: str, number: int) -> tuple[float, float]:
    """Milliseconds until the answer is there, and those of its models; a follow-up's conversation begins before."""
    body = {"question": question.format(number)}
    if question == DEADLINE:
        body["conversation_id"] = f"bench-{number}"
        http.post("/api/v1/query", json={**body, "question": TRAVEL.format(number)}).raise_for_status()
    models.asked.clear()
    began = time.perf_counter()
    reply = http.post("/api/v1/query", json=body)
    took = (time.perf_counter() - began) * 1000
    reply.raise_for_status()
    return took, 1000 * sum(SECONDS[step_of(one)] for one in models.asked)


def _until_cached(http: httpx.Client) -> None:
    deadline = time.monotonic() + 60
    while http.post("/api/v1/query", json={"question": KINDS["hit"]}).json()["result"]["outcome"] != "reused":
        if time.monotonic() > deadline:
            raise RuntimeError("the answer is not cached")
        time.sleep(0.2)


def _slow(asked: Asked) -> Scripted:
    """The scripted reply, after the time that its step takes."""
    said = answered(asked)
    if isinstance(said, dict):
        if step_of(asked) == "restate":  # embeddings are kept by their text
            said["question"] += f" ({hashlib.sha256(asked.user.encode()).hexdigest()[:8]})"
        said = json.dumps(said)
    reply = said if isinstance(said, ScriptedReply) else ScriptedReply(str(said or ""))
    return replace(reply, first=SECONDS[step_of(asked)])
