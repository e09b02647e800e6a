"""The module that the tests of `shared.runtime.limited_process` run in its children."""

from __future__ import annotations

import json
import os
import pickle
import sys
from typing import Any

from shared.contracts.errors import DocumentError
from shared.runtime import limited_process
from shared.runtime.limited_process import serve


class Planted:
    """Runs code of its author where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["TMPDIR"] + "/unpickled",)


def work(what: str, argument: Any) -> bytes:
    """One of a few kinds of behaviour, by name; returns JSON."""
    return json.dumps(_work(what, argument)).encode() if what != "raw" else argument


def _work(what: str, argument: Any) -> Any:
    if what == "double":
        return argument * 2
    if what == "pid":
        return os.getpid()
    if what == "parent":
        return os.getppid()
    if what == "environment":
        return dict(os.environ)
    if what == "print":
        print("a library that prints")
        sys.stdout.flush()
        return "printed"
    if what == "refuse":
        raise DocumentError(argument)
    if what == "allocate":
        return len(bytearray(argument))
    if what == "loop":
        while True:
            argument += 1
    if what == "exit":
        os._exit(argument)
    if what == "sys.exit":
        sys.exit(argument)
    if what == "nest":
        return _work(what, argument)
    if what == "take over":  # what writes the replies is the author's, too
        planted = {"pickle": pickle.dumps(Planted()), "large": b"", "short": b"x", "other": b"\xff" * 40}[argument]
        head = (1 << 60 if argument == "large" else len(planted)).to_bytes(8, "big")

        def write(pipe: Any, *_: bytes) -> None:
            pipe.write(head + planted)
            pipe.flush()

        limited_process._write = write
        return None
    raise OSError("a value that a person wrote")


if __name__ == "__main__":
    serve(work)
