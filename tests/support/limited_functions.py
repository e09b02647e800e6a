"""The module that the tests of `shared.runtime.limited_process` run in its children."""

from __future__ import annotations

import os
import sys
from typing import Any

from shared.contracts.errors import DocumentError
from shared.runtime.limited_process import serve


def work(what: str, argument: Any) -> Any:
    """One of a few kinds of behaviour, by name."""
    if what == "double":
        return argument * 2
    if what == "pid":
        return os.getpid()
    if what == "parent":
        return os.getppid()
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
    if what == "nest":
        return work(what, argument)
    raise OSError("a value that a person wrote")


if __name__ == "__main__":
    serve(work)
