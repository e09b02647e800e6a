"""What a platform needs before its workers start, done in a fork of the process that has imported every stage.

The supervisor itself imports no stage: it starts sooner, and holds a third of the memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from cli.host.bootstrap import prepare
from cli.host.catalogue import stages
from cli.operations.credentials import issue_embedded
from shared.contracts.errors import AnswerbusError, first_fault
from shared.runtime.settings import Settings


async def _issue(settings: Settings) -> list[str]:
    issue_embedded(settings, stages(settings))
    return []


#: By name: the users of the embedded server are written; NATS is provisioned and has the packaged pipelines.
JOBS: dict[str, Callable[[Settings], Coroutine[Any, Any, list[str]]]] = {"issue": _issue, "prepare": prepare}


def run_job(name: str) -> None:
    """Do the job with the settings of the environment; the last line of the output is its result as JSON.

    That is `{"notes"}`, for the operator, or `{"error", "class"}` of an expected error.
    """
    from pydantic import ValidationError

    result: dict[str, Any]
    try:
        result = {"notes": asyncio.run(JOBS[name](Settings()))}
    except ValidationError as error:
        result = {"error": f"setting {first_fault(error)}", "class": "ConfigurationError"}
    except AnswerbusError as error:
        result = {"error": str(error), "class": type(error).__name__}
    print(f"\n{json.dumps(result)}", flush=True)
