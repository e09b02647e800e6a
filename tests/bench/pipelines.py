"""What each stage of each packaged pipeline takes and costs: `python -m tests.bench --only pipelines`.

The questions and replies are those of the pipeline's demonstration, for any pipeline that has one; that of `default`
has no model. The model replies at once: what is measured is the platform, to which the time of a real model is added.
Tokens are estimated (four characters each) at the price below.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cli.client import GatewayClient
from cli.host.bootstrap import PIPELINES
from cli.host.in_process import platform
from cli.host.seeds import settings_for_user
from cli.operations import bus
from cli.operations.demo import LOG_BYTES, load_demo, question_body
from cli.operations.demo_script import DemoScript, ScriptedReplies, read_demo, scripted_models
from shared.contracts.errors import ConfigurationError
from shared.contracts.subjects import END
from shared.llm.fallback import FallbackModels
from shared.llm.settings import Price
from shared.runtime.pipelines import read_pipeline
from shared.runtime.settings import Settings
from shared.stores.pipelines_nats import NatsPipelines

from .chains import Say
from .report import Section

#: US dollars per million tokens, about those of a small hosted model.
PRICE = Price(input=0.15, output=0.60)
#: Of a mean question; costs are of a thousand.
MEASURES = ("waited ms", "worked ms", "model calls", "tokens in", "tokens out", "$ per 1,000")
WHOLE = "whole"


async def compare(*, rounds: int, say: Say, only: Sequence[str] = ()) -> list[Section]:
    """A section for each packaged pipeline that has a demonstration, or for those named in `only`."""
    sections = []
    for folder in sorted(path.parent for path in PIPELINES.glob("*/pipeline.yaml")):
        if only and folder.name not in only:
            continue
        script = _script(folder, say)
        if script is not None:
            sections.append(await _measure(folder, script, rounds, say))
    return sections


def _script(folder: Path, say: Say) -> DemoScript | None:
    try:
        return read_demo(folder)
    except ConfigurationError as error:
        say(f"left out: {error}")
        return None


async def _measure(folder: Path, script: DemoScript, rounds: int, say: Say) -> Section:
    """One platform. The first round is not counted; each is of a revision of its own, so that no answer is cached."""
    title = f"Pipeline {folder.name}: a question of its demonstration, by stage"
    section = Section(f"pipeline-{folder.name}", title, MEASURES, baselines=())
    replies = ScriptedReplies(replies=script.replies)
    models = scripted_models(replies, PRICE) if script.replies else FallbackModels({})
    with _temporary() as data:
        settings = Settings(data_dir=data, max_log_bytes=LOG_BYTES, log_level="error", log_format="console")
        settings.default_pipeline = folder.name
        async with platform(settings, models=models) as url, GatewayClient(url) as client:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                await load_demo(client, settings, folder, script)
            for number in range(rounds + 1):
                replies.rewind()
                await _new_revision(settings, folder, number)
                told = await _round(client, script)
                if number:
                    for stage, values in told.items():
                        section.add(stage, values)
                say(f"{folder.name}: round {number} of {rounds}, {told[WHOLE]['worked ms']:.0f} ms a question")
    return section


async def _new_revision(settings: Settings, folder: Path, number: int) -> None:
    document = read_pipeline(folder)
    async with bus.connected(settings_for_user(settings, "operator"), "pipelines") as client:
        store = NatsPipelines(client.jetstream)
        await store.open()
        try:
            await store.apply(document.model_copy(update={"description": f"{document.description} {number}"}))
        finally:
            await store.close()


async def _round(client: GatewayClient, script: DemoScript) -> dict[str, dict[str, float]]:
    """The measures by stage, and of the whole question from outside, each of a mean question."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(MEASURES, 0.0))
    conversations: dict[str, str] = {}
    for question in script.questions:
        began = time.perf_counter()
        told = await client.call("POST", "/api/v1/query", json=question_body(question, conversations))
        sums[WHOLE]["worked ms"] += (time.perf_counter() - began) * 1e3
        if question.conversation:
            conversations[question.conversation] = told["conversation_id"]
        events = await client.call("GET", f"/api/v1/events/{told['id']}")
        _add(sums, next(event for event in events if event["subject"].endswith(f".{END}")))
    whole = sums.pop(WHOLE)
    count = len(script.questions)
    ordered = {**sums, WHOLE: whole}
    return {stage: {name: value / count for name, value in values.items()} for stage, values in ordered.items()}


def _add(sums: dict[str, dict[str, float]], event: dict[str, Any]) -> None:
    for timing in event["timeline"]:
        sums[timing["stage"]]["waited ms"] += timing["waited_ms"]
        sums[timing["stage"]]["worked ms"] += timing["worked_ms"]
        sums[WHOLE]["waited ms"] += timing["waited_ms"]
    for call in event["model_calls"]:
        for stage in (call["stage"], WHOLE):
            sums[stage]["model calls"] += 1
            sums[stage]["tokens in"] += call["usage"]["input_tokens"]
            sums[stage]["tokens out"] += call["usage"]["output_tokens"]
            sums[stage]["$ per 1,000"] += call["usage"]["cost_usd"] * 1000


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="answerbus-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
