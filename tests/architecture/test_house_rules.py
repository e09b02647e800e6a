"""Rules of the house that a reader would otherwise have to enforce."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture.source import Module, modules, within

FUNCTION_LINES = 50
#: A migration is written once and never refactored.
HISTORY = "services/persistence/migrations/versions/"
#: What a subject begins with.
SUBJECT = re.compile(r"^(qa|bg|ask|dead|live)\.[a-z*>{]")
Offenders = dict[str, list[str]]


def offenders(judge: Callable[[Module], list[str]], *, beside: tuple[str, ...] = ()) -> Offenders:
    """What the judge finds, by file; files and folders named by `beside` are not judged."""
    judged = {module.path: judge(module) for module in modules() if not within(module.path, beside)}
    return {path: found for path, found in judged.items() if found}


def test_functions_are_short_enough_to_be_read_at_once() -> None:
    def judge(module: Module) -> list[str]:
        lengths = {function.name: (function.end_lineno or 0) - function.lineno + 1 for function in module.functions()}
        return [f"{name}: {lines} lines" for name, lines in lengths.items() if lines > FUNCTION_LINES]

    assert offenders(judge, beside=(HISTORY,)) == {}


def test_every_module_says_what_it_is_for() -> None:
    def judge(module: Module) -> list[str]:
        return ["no docstring"] if module.text.strip() and not ast.get_docstring(module.tree) else []

    assert offenders(judge) == {}


def test_no_error_is_swallowed_unnamed() -> None:
    """Passing over an error is for one kind of error at a time, and needs a word why."""

    def judge(module: Module) -> list[str]:
        handlers = [node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler)]
        return [f"line {handler.lineno}: {fault}" for handler in handlers if (fault := swallowing(module, handler))]

    assert offenders(judge) == {}


def swallowing(module: Module, handler: ast.ExceptHandler) -> str:
    """What is wrong with the handler, or nothing."""
    if handler.type is None:
        return "bare except"
    if not all(isinstance(statement, ast.Pass) for statement in handler.body):
        return ""
    names = {name.id for name in ast.walk(handler.type) if isinstance(name, ast.Name)}
    if names & {"Exception", "BaseException"}:
        return "passes over everything"
    lines = module.text.splitlines()[handler.lineno - 1 : handler.end_lineno]
    return "" if "#" in "".join(lines) else "does not say why"


@pytest.mark.parametrize(
    ("handler", "fault"),
    [
        ("except: pass", "bare except"),
        ("except Exception: pass", "passes over everything"),
        ("except (KeyError, Exception): pass", "passes over everything"),
        ("except KeyError: pass", "does not say why"),
        ("except KeyError: pass  # gone already", ""),
        ("except KeyError: raise", ""),
    ],
)
def test_swallowed_errors_are_told_from_handled_ones(handler: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"try:\n    work()\n{handler}\n")
    module = Module(str(path))
    (parsed,) = (node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler))

    assert swallowing(module, parsed) == fault


def test_nothing_is_left_to_do_later() -> None:
    def judge(module: Module) -> list[str]:
        raised = [n for n in ast.walk(module.tree) if isinstance(n, ast.Name) and n.id == "NotImplementedError"]
        return re.findall(r"\b(?:TODO|FIXME|HACK)\b", module.text) + [f"line {name.lineno}" for name in raised]

    assert offenders(judge) == {}


def test_subjects_are_spelled_in_one_place() -> None:
    def judge(module: Module) -> list[str]:
        texts = [n.value for n in ast.walk(module.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        return [text for text in texts if SUBJECT.match(text)]

    assert offenders(judge, beside=("shared/contracts/subjects.py",)) == {}


def test_only_commands_print() -> None:
    def judge(module: Module) -> list[str]:
        calls = [n.func.id for n in ast.walk(module.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        return [name for name in calls if name == "print"]

    assert offenders(judge, beside=("cli/", "lab/")) == {}
