"""The limit of the HTTP part: FastAPI and uvicorn answering at once with a ready-made answer of the usual size."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from .chain import ROOT
from .http_load import PATH

_SENTENCE = "The office keeps every form for five years."


class Query(BaseModel):
    question: str


def build() -> FastAPI:
    app = FastAPI()

    @app.post(PATH)
    async def query(request: Query) -> dict[str, Any]:
        sentences = [{"text": _SENTENCE, "citations": [1]} for _ in range(5)]
        citation = {
            "number": 1,
            "source": "kb:forms.md",
            "passage": "p",
            "title": "Forms",
            "url": "",
            "quote": _SENTENCE,
        }
        return {
            "id": "0" * 32,
            "status": "COMPLETE",
            "result": {
                "answer": {"content": " ".join([_SENTENCE] * 5), "type": "normal", "sentences": sentences},
                "citations": [citation] * 5,
                "context": {"standalone_question": request.question},
                "reused": False,
            },
        }

    return app


@contextmanager
def running_baseline() -> Iterator[str]:
    """Run the server in a process of its own until the block ends; gives its address."""
    command = [sys.executable, "-m", "tests.bench.http_baseline"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError("the HTTP baseline did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], flush=True)  # connections wait in the backlog until the server accepts
    uvicorn.Server(uvicorn.Config(build(), log_level="warning", access_log=False)).run(sockets=[listening])


if __name__ == "__main__":
    main()
