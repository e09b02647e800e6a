"""Small faults: a comparison, a connective, a number, a truth value or a condition that is the other way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The file with one change."""

    path: str
    line: int
    change: str
    text: str


def mutants(path: str, source: str) -> list[Mutant]:
    """Every mutant of a file that is code of functions: tables and defaults beside them are data."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    changes = {
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset): change
        for function in functions
        for statement in function.body
        for node, change in _changes(statement)
    }
    return [_mutant(path, source, place, change) for place, change in sorted(changes.items())]


def _changes(statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            operator = _COMPARED[type(node.ops[0])]
            yield node, f"({ast.unparse(node.left)} {operator} {ast.unparse(node.comparators[0])})"
        elif isinstance(node, ast.BoolOp):
            other = " or " if isinstance(node.op, ast.And) else " and "
            yield node, f"({other.join(f'({ast.unparse(value)})' for value in node.values)})"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, str(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield node, str(node.value + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, f"({ast.unparse(node.operand)})"


def _mutant(path: str, source: str, place: tuple[int, int, int | None, int | None], change: str) -> Mutant:
    first, begin, last, end = place
    lines = source.encode().splitlines(keepends=True)
    assert last is not None
    head, tail = lines[first - 1][:begin], lines[last - 1][end:]
    was = b"".join(lines[first - 1 : last])[begin:].removesuffix(tail)
    text = b"".join([*lines[: first - 1], head, change.encode(), tail, *lines[last:]]).decode()
    return Mutant(path, first, f"{was.decode()} → {change}", text)
