"""A model server that finds every name and place of a marked set: an upper bound, not a model.

    python -m tests.support.perfect_finder synth_dataset_v2.jsonl

It knows the marks of the set and names those of the kinds it was given, as far as they stand in the message it reads.
What `evaluate moderation --with-model` measures with it is what the pipeline makes of a finder that misses nothing;
it says nothing about how much a real model finds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.moderation import evaluate, inspected, read_cases

from shared.contracts.pipelines import Pipeline
from tests.support.model_server import Asked, ModelServer

NAMES_AND_PLACES = ("PERSON", "STREET_ADDRESS", "GPE")


async def measured(file: Path, kinds: Iterable[str], moderation: Mapping[str, Any]) -> dict[str, Any]:
    """What `evaluate moderation FILE --with-model` tells of the set with a finder of these kinds behind `fast`."""
    pipeline = Pipeline(name="default", sections={"moderation": {"ai_pii": "redact", **moderation}})
    marked = await _marked(file, frozenset(kinds), pipeline)

    def reply(asked: Asked) -> dict[str, Any]:
        message = unescape(asked.user.split("<message>\n", 1)[1].rsplit("\n</message>", 1)[0])
        pieces = dict.fromkeys(piece for mark in marked[message] for piece in standing(mark, message))
        return {"found": [{"text": piece, "kind": "other"} for piece in pieces]}

    with ModelServer(reply) as server, _fast(server.url):
        return await evaluate(file, pipeline, with_model=True)


async def _marked(file: Path, kinds: frozenset[str], pipeline: Pipeline) -> dict[str, list[str]]:
    """What is marked in each text, by the message that the rules leave of it for the model."""
    marked: dict[str, list[str]] = defaultdict(list)
    async for case, reply in inspected(read_cases(file), pipeline):
        marked[reply.text] += [case.text[one.start : one.end] for one in case.entities or () if one.kind in kinds]
    return marked


def standing(mark: str, message: str) -> Iterator[str]:
    """The longest runs of the mark's words that stand in the message, from the left; rules may have masked some."""
    words = mark.split()
    while words:
        sizes = (size for size in range(len(words), 0, -1) if " ".join(words[:size]) in message)
        size = next(sizes, 0)
        if size:
            yield " ".join(words[:size]).strip(",.;")
        words = words[size or 1 :]


@contextmanager
def _fast(url: str) -> Iterator[None]:
    """Within, the process settings have that endpoint for `fast`."""
    endpoint = {"name": "finder", "base_url": url, "model": "finder", "api_key": "none"}
    before = os.environ.get("ANSWERBUS_MODELS")
    os.environ["ANSWERBUS_MODELS"] = json.dumps({"endpoints": [endpoint], "roles": {"fast": ["finder"]}})
    try:
        yield
    finally:
        if before is None:
            del os.environ["ANSWERBUS_MODELS"]
        else:
            os.environ["ANSWERBUS_MODELS"] = before


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--kinds", default=",".join(NAMES_AND_PLACES), help="of the marks, separated by commas")
    parser.add_argument("--moderation", type=json.loads, default={}, help="settings of the section, as JSON")
    given = parser.parse_args()
    told = asyncio.run(measured(given.file, given.kinds.split(","), given.moderation))
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
