"""The platform itself: started here, given documents, asked over HTTP; and what it takes to start and to hold."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.platform import ANSWERBUS, ROOT, Platform, cli, running

from .chains import Say
from .http_load import bodies, load, read_questions
from .report import Section
from .startup import held_mb

#: 1,114 public-health questions with their answers, where the evaluation data lies beside the project.
FAQ = ROOT.parent / "shared" / "data" / "faq_gov_covid_jhu" / "faq.jsonl"
IN_FLIGHT = (1, 64)
#: Targets are for an idle machine; a load of this many questions warms every worker first.
WARM_UP = 200


async def compare(*, rounds: int, quick: bool, say: Say) -> list[Section]:
    """The platform under load at one and at 64 in flight, then its footprint."""
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-") as folder:
        root = Path(folder)
        questions, documents = corpus(root)
        began = time.perf_counter()
        with running(root / "data") as platform:
            ready = time.perf_counter() - began
            ingested = cli("ingest", str(documents), "--url", platform.url, "--json", timeout=600)
            say(f"platform: ready in {ready:.1f} s; {ingested.stdout.strip()[:60]!r}")
            speed = await _speed(platform, questions, rounds, quick, say)
            held = _memory(platform)
        return [speed, _footprint(root / "data", ready, held, say)]


async def _speed(platform: Platform, questions: list[str], rounds: int, quick: bool, say: Say) -> Section:
    section = Section(
        name="platform",
        title="POST /api/v1/query, extractive pipeline, a process per stage, every write fsynced",
        measures=("questions/s", "p50 ms", "p95 ms", "p99 ms"),
        baselines=(),
    )
    await load(platform.url, bodies(questions, WARM_UP, distinct=True), in_flight=16)
    for number in range(rounds):
        for in_flight in IN_FLIGHT:
            count = (100 if in_flight == 1 else 600) if quick else (300 if in_flight == 1 else 3000)
            figures = await load(platform.url, bodies(questions, count, distinct=True), in_flight=in_flight)
            if figures.answered != count:
                raise RuntimeError(f"{count - figures.answered} questions were not answered: {figures.errors}")
            values = (figures.per_second, figures.p50_ms, figures.p95_ms, figures.p99_ms)
            section.add(f"{in_flight} in flight", dict(zip(section.measures, values, strict=True)))
            said = f"{figures.per_second:,.0f}/s, {figures.p50_ms:.1f} ms"
            say(f"round {number + 1}, platform, {in_flight} in flight: {said}")
    return section


def _footprint(data: Path, ready: float, held: float, say: Say) -> Section:
    """Seconds to start in several ways, and the memory of all workers and the bus."""
    section = Section(
        name="footprint",
        title="Starting and holding",
        measures=("up ready s", "memory MB (PSS)", "--help s", "ask --in-process s"),
        baselines=(),
    )
    helped = min(_seconds([str(ANSWERBUS), "--help"]) for _ in range(3))
    asked = _seconds([str(ANSWERBUS), "ask", "How long is the incubation period?", "--in-process", "--data", str(data)])
    values = (ready, held, helped, asked)
    section.add("platform", dict(zip(section.measures, values, strict=True)))
    say(f"footprint: {held:.0f} MB, --help {helped:.2f} s, ask --in-process {asked:.1f} s")
    return section


def corpus(root: Path) -> tuple[list[str], Path]:
    """Questions, and the documents that answer them: the FAQ, or this project's own pages."""
    if FAQ.exists():
        return read_questions(FAQ), FAQ
    asked = root / "questions.jsonl"
    texts = ("How is a stream resumed?", "What is a fact?", "What does persistence record?", "How do I scale a stage?")
    asked.write_text("".join(f"{json.dumps({'question': text})}\n" for text in texts))
    return read_questions(asked), ROOT / "docs"


def _memory(platform: Platform) -> float:
    """MB of the workers, of the process they are forked from, and of the bus; shared pages count in parts."""
    return sum(map(held_mb, (*platform.processes(), *platform.servers())))


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
    return time.perf_counter() - began
